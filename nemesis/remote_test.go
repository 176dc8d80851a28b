package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/wire"
)

// scripted injector note what they are told and answer as they were told to.
type scripted struct {
	mu     sync.Mutex
	told   []string
	err    error
	held   chan struct{} // Stopped waits for it, or for its caller's patience to end
	healed bool
}

func (s *scripted) note(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, what)
	return s.err
}

func (s *scripted) Signal(_ context.Context, pid int, sig syscall.Signal) error {
	if pid != 7 || sig != syscall.SIGSTOP {
		return errors.New("garbled")
	}
	return s.note("signal")
}

func (s *scripted) Stopped(ctx context.Context, _ int) (bool, error) {
	select {
	case <-s.held:
		return true, s.note("stopped")
	case <-ctx.Done():
		return false, errors.Join(ctx.Err(), s.note("gave up"))
	}
}

func (s *scripted) Drop(_ context.Context, netns string, from []string) error {
	return s.note("drop " + netns + " " + strings.Join(from, ","))
}

func (s *scripted) Bar(_ context.Context, netns string, from, to []string) error {
	return s.note("bar " + netns + " " + strings.Join(from, ",") + " " + strings.Join(to, ","))
}

func (s *scripted) Dropped(context.Context, string) (map[string]uint64, error) {
	return map[string]uint64{"10.0.0.1": 1 << 60}, s.note("dropped")
}

func (s *scripted) Reach(_ context.Context, netns, addr string) (bool, error) {
	return true, s.note("reach " + netns + " " + addr)
}

func (s *scripted) SetClock(_ context.Context, _ int, to clock.Setting) error {
	return s.note("clock " + wrongness(to))
}

func (s *scripted) ReadClock(context.Context, int) (clock.Setting, error) {
	return clock.Setting{Offset: -3 * time.Second, Rate: 0.5, Strobe: -time.Minute}, s.note("read clock")
}

func (s *scripted) Wire(_ context.Context, netns string, o wire.Order) (wire.Report, error) {
	return wire.Report{Messages: 3, Took: time.Second}, s.note(fmt.Sprintf("wire %s %s %v %d %v", netns, o.Do, o.To, o.N, o.Shape.Delay))
}
func (s *scripted) Clock(context.Context) error { return s.note("clock") }
func (s *scripted) allow(id string, _ int) error {
	return s.note("allow " + id)
}

func (s *scripted) ask(_ context.Context, netns, addr string, p *compose.Probe) (string, bool, error) {
	if p == nil {
		return "", true, s.note("knock " + netns + " " + addr)
	}
	return "what matched", false, s.note("ask " + p.Send + " " + p.Expect + map[bool]string{true: " by TLS"}[p.TLS])
}
func (s *scripted) sockets(int) (string, error) { return "table", s.note("sockets") }

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

func TestRemoteTellsAllThatIsSaid(t *testing.T) {
	injector := &scripted{held: make(chan struct{})}
	close(injector.held)
	r, _ := connect(t, injector)
	ctx := t.Context()
	check := func(what string, err error, ok bool) {
		t.Helper()
		if err != nil || !ok {
			t.Errorf("%s: %v, %v", what, ok, err)
		}
	}
	check("allow", r.Allow(ctx, "id", 7), true)
	check("signal", r.Signal(ctx, 7, syscall.SIGSTOP), true)
	yes, err := r.Stopped(ctx, 7)
	check("stopped", err, yes)
	check("drop", r.Drop(ctx, "/ns", []string{"a", "b"}), true)
	check("drop nothing", r.Drop(ctx, "/ns", nil), true)
	check("bar", r.Bar(ctx, "/ns", []string{"a"}, []string{"b", "c"}), true)
	d, err := r.Dropped(ctx, "/ns")
	check("dropped", err, d["10.0.0.1"] == 1<<60)
	yes, err = r.Reach(ctx, "/ns", "x:1")
	check("reach", err, yes)
	check("set the clock", r.SetClock(ctx, 7, clock.Setting{Offset: -1500 * time.Millisecond, Rate: 1.25, Strobe: time.Second}), true)
	w, err := r.Wire(ctx, "/ns", wire.Order{Do: wire.Shaped, To: []string{"a"}, N: 2, Shape: wire.Shape{Delay: time.Second}})
	check("wire", err, w.Messages == 3 && w.Took == time.Second)
	o, err := r.ReadClock(ctx, 7)
	check("read the clock", err, o == clock.Setting{Offset: -3 * time.Second, Rate: 0.5, Strobe: -time.Minute})
	check("clock", r.Clock(ctx), true)
	_, yes, err = r.Ask(ctx, "/ns", "x:1", nil)
	check("knock", err, yes)
	text, yes, err := r.Ask(ctx, "/ns", "x:1", &compose.Probe{Send: "PING\r\n", Expect: "PONG", TLS: true})
	check("ask", err, !yes && text == "what matched")
	table, err := r.Sockets(ctx, 7)
	check("sockets", err, table == "table")
	want := []string{
		"allow id", "signal", "stopped", "drop /ns a,b", "drop /ns ", "bar /ns a b,c", "dropped", "reach /ns x:1", "clock -1.5s x1.25 strobe +1s", "wire /ns shape [a] 2 1s", "read clock", "clock",
		"knock /ns x:1", "ask PING\r\n PONG by TLS", "sockets",
	}
	if !slices.Equal(injector.told, want) {
		t.Errorf("told %q, want %q", injector.told, want)
	}
	if a, b := r.Now(), r.Now(); a <= 0 || b < a {
		t.Errorf("the clock goes from %d to %d", a, b)
	}
}

// Faults tell these errors apart, so they must survive the way.
func TestRemoteErrors(t *testing.T) {
	for _, want := range []error{os.ErrProcessDone, syscall.ESRCH, clock.ErrUnsupported, ErrRefused, wire.ErrUnsupported} {
		injector := &scripted{err: want}
		r, _ := connect(t, injector)
		err := r.Signal(t.Context(), 7, syscall.SIGSTOP)
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
	if err := r.Clock(t.Context()); err == nil || errors.Is(err, os.ErrProcessDone) || err.Error() != "anything" {
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
		_, err := r.Stopped(t.Context(), 7)
		slow <- err
	}()
	if err := r.Signal(t.Context(), 7, syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
	select {
	case err := <-slow:
		t.Errorf("answered before its time: %v", err)
	default:
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Stopped(ctx, 7); err == nil {
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
		if _, err := r.Stopped(ctx, 7); err == nil || ctx.Err() != nil || !slices.Equal(injector.told, []string{"gave up"}) {
			t.Errorf("the agent %q, the caller %v: %v", injector.told, ctx.Err(), err)
		}
	})
}

// The end of its input is the end of whoever sent the agent out: it heals, and only
// then does it end.
func TestAgentHealsWhenNobodyIsLeft(t *testing.T) {
	injector := &scripted{held: make(chan struct{})}
	r, served := connect(t, injector)
	if err := r.Signal(t.Context(), 7, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	unanswered := make(chan error, 1)
	go func() {
		_, err := r.Stopped(t.Context(), 7)
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
	if err := r.Signal(t.Context(), 7, syscall.SIGSTOP); err == nil || !strings.Contains(err.Error(), "the agent is gone") {
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
