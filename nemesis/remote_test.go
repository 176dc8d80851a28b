package nemesis

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// scripted notes the operations and answers all of them with the same.
type scripted struct {
	mu     sync.Mutex
	done   []Op
	answer Result
	err    error
	held   chan struct{} // OpStopped waits for it, or until its context ends
	gaveUp bool          // OpStopped has not waited for held
	healed bool
}

func (s *scripted) Do(ctx context.Context, op Op) (Result, error) {
	late := false
	if op.Name == OpStopped {
		select {
		case <-s.held:
		case <-ctx.Done():
			late = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, op)
	if late {
		s.gaveUp = true
		return Result{}, ctx.Err()
	}
	return s.answer, s.err
}

func (s *scripted) heal(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healed = true
	return nil
}

// connect joins a Remote to injector, as the engine does through a container's streams.
func connect(t *testing.T, injector *scripted) (*Remote, chan error) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := serve(t.Context(), inR, outW, injector)
		outW.Close()
		served <- err
	}()
	r := NewRemote(inW, outR, nil)
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r, served
}

// Operations and results pass through the agent's protocol unchanged.
func TestRemoteIsTransparent(t *testing.T) {
	injector := &scripted{answer: Result{
		Yes: true, Text: "table", Dropped: map[string]uint64{"10.0.0.1": 1 << 60},
		Clock:   clock.Setting{Offset: -3 * time.Second, Rate: 0.5, Strobe: -time.Minute},
		Packets: packetfault.Report{Messages: 3, Took: time.Second}, Now: 5, Boot: "boot",
	}}
	r, _ := connect(t, injector)
	ctx := t.Context()
	want := []Op{
		{
			Name: OpDrop, PID: 7, Signal: syscall.SIGSTOP, NetNS: "/ns", From: []string{"a", "b"}, To: []string{"c"}, Addr: "x:1",
			Clock:   clock.Setting{Offset: -1500 * time.Millisecond, Rate: 1.25, Strobe: time.Second},
			Packets: packetfault.Request{Op: packetfault.Shaped, To: []string{"a"}, N: 2, Shape: packetfault.Shape{Delay: time.Second}},
		},
		{Name: OpTryClock},
		{Name: OpAllow, Container: "id", PID: 7},
		{Name: OpProbe, NetNS: "/ns", Addr: "x:1"},
		{Name: OpProbe, NetNS: "/ns", Addr: "x:1", Probe: &compose.Probe{Send: "PING\r\n", Expect: "PONG", TLS: true}},
		{Name: OpSignal, PID: 7, Signal: syscall.SIGKILL},
	}
	for _, op := range want[:2] {
		if got, err := r.Do(ctx, op); err != nil || !reflect.DeepEqual(got, injector.answer) {
			t.Errorf("%s: %+v, %v", op.Name, got, err)
		}
	}
	if err := r.Allow(ctx, "id", 7); err != nil {
		t.Error(err)
	}
	for _, op := range want[3:5] {
		if text, yes, err := r.Ask(ctx, op.NetNS, op.Addr, op.Probe); err != nil || !yes || text != "table" {
			t.Errorf("ask: %q, %v, %v", text, yes, err)
		}
	}
	if err := r.Kill(ctx, 7); err != nil {
		t.Error(err)
	}
	if !reflect.DeepEqual(injector.done, want) {
		t.Errorf("done %+v, want %+v", injector.done, want)
	}
	if a, b := r.Now(), r.Now(); a <= 0 || b < a {
		t.Errorf("the clock goes from %d to %d", a, b)
	}
}

// Faults tell these errors apart, so they must survive the way.
func TestRemoteErrors(t *testing.T) {
	for _, want := range []error{os.ErrProcessDone, syscall.ESRCH, clock.ErrUnsupported, ErrRefused, packetfault.ErrUnsupported, errors.ErrUnsupported} {
		injector := &scripted{err: want}
		r, _ := connect(t, injector)
		err := do(t, r, Op{Name: OpSignal, PID: 7, Signal: syscall.SIGSTOP})
		if !errors.Is(err, want) || err.Error() != want.Error() {
			t.Errorf("%v became %v", want, err)
		}
		for _, other := range []error{clock.ErrUnsupported, ErrRefused} {
			if !errors.Is(want, other) && errors.Is(err, other) {
				t.Errorf("%v became %v too", want, other)
			}
		}
	}
	r, _ := connect(t, &scripted{err: errors.New("anything")})
	if err := do(t, r, Op{Name: OpTryClock}); err == nil || errors.Is(err, os.ErrProcessDone) || err.Error() != "anything" {
		t.Errorf("became %v", err)
	}
}

// One request that takes its time holds up no other, and is given up when its
// caller has.
func TestRemoteAnswersInAnyOrder(t *testing.T) {
	injector := &scripted{held: make(chan struct{})}
	r, _ := connect(t, injector)
	slow := make(chan error, 1)
	go func() {
		_, err := r.Do(t.Context(), Op{Name: OpStopped, PID: 7})
		slow <- err
	}()
	if err := do(t, r, Op{Name: OpSignal, PID: 7, Signal: syscall.SIGSTOP}); err != nil {
		t.Error(err)
	}
	select {
	case err := <-slow:
		t.Errorf("answered before its time: %v", err)
	default:
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Do(ctx, Op{Name: OpStopped, PID: 7}); err == nil {
		t.Error("it answered")
	}
	close(injector.held)
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

// That there was no answer in time is the agent's to say: where a question has to be
// answered with yes, it means no.
func TestAgentGivesUpBeforeItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		injector := &scripted{held: make(chan struct{})}
		r, _ := connect(t, injector)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Do(ctx, Op{Name: OpStopped, PID: 7}); err == nil || ctx.Err() != nil || !injector.gaveUp {
			t.Errorf("the agent gave up: %v, the caller %v: %v", injector.gaveUp, ctx.Err(), err)
		}
	})
}

// The end of its input is the end of the agent's parent: it heals, and only
// then does it end.
func TestAgentHealsAtTheEndOfItsInput(t *testing.T) {
	injector := &scripted{held: make(chan struct{})}
	r, served := connect(t, injector)
	if err := do(t, r, Op{Name: OpSignal, PID: 7, Signal: syscall.SIGSTOP}); err != nil {
		t.Fatal(err)
	}
	unanswered := make(chan error, 1)
	go func() {
		_, err := r.Do(t.Context(), Op{Name: OpStopped, PID: 7})
		unanswered <- err
	}()
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if !injector.healed {
		t.Error("it did not heal")
	}
	if err := <-unanswered; err == nil {
		t.Log("the last request was answered before the end")
	}
	if err := do(t, r, Op{Name: OpSignal, PID: 7, Signal: syscall.SIGSTOP}); err == nil || !strings.Contains(err.Error(), "the agent is gone") {
		t.Errorf("after its end: %v", err)
	}
}

func TestAgentGivesUpOnNonsense(t *testing.T) {
	injector := &scripted{}
	err := serve(t.Context(), strings.NewReader("no JSON\n"), io.Discard, injector)
	if err == nil || !strings.Contains(err.Error(), "no JSON") || !injector.healed {
		t.Errorf("error %v, healed %v", err, injector.healed)
	}
}
