package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/proc"
)

// script writes a shell script that plays a child and returns its exec lock's
// name. In it, say prints one line of the protocol.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "child.sh")
	if err := os.WriteFile(path, []byte("say() { printf '%s\\n' \"$1\"; }\n"+body), 0o600); err != nil {
		t.Fatal(err)
	}
	return "exec:sh " + path
}

const opened = `read line; say '{"id":1,"ok":true}'; `

func TestExecAcquire(t *testing.T) {
	const limit = 300 * time.Millisecond
	tests := map[string]struct {
		body    string
		unknown bool
		want    string // in the error, "" for none
	}{
		"granted":            {body: `read line; say '{"id":2,"ok":true,"token":7}'; read line`},
		"definite failure":   {body: `read line; say '{"id":2,"ok":false,"error":"timeout","definite":true}'; read line`, want: "timeout"},
		"indefinite failure": {body: `read line; say '{"id":2,"ok":false,"error":"reset","definite":false}'; read line`, unknown: true, want: "reset"},
		"not said whether":   {body: `read line; say '{"id":2,"ok":false,"error":"reset"}'; read line`, unknown: true, want: "reset"},
		"no answer":          {body: `read line; read line`, unknown: true, want: "did not answer"},
		"ends":               {body: `read line; exit 3`, unknown: true, want: "child ended"},
		"no JSON":            {body: `read line; say 'Traceback (most recent'; read line`, unknown: true, want: `"Traceback (most recent"`},
		"wrong id":           {body: `read line; say '{"id":9,"ok":true}'; read line`, unknown: true, want: `"{\"id\":9,\"ok\":true}"`},
		"answers twice":      {body: `read line; say '{"id":1,"ok":true}'; read line`, unknown: true, want: "no request with that id"},
		"no ok":              {body: `read line; say '{"id":2}'; read line`, unknown: true, want: `needs "ok"`},
		"strange event":      {body: `read line; say '{"event":"found","key":"k"}'; read line`, unknown: true, want: "found"},
		"half a line":        {body: `read line; printf '{"id":2,"ok":tr'`, unknown: true, want: "in the middle of a line"},
		"endless line":       {body: `read line; head -c 70000 /dev/zero | tr '\0' x; read line`, unknown: true, want: `more than 65536 bytes: "xxx`},
		"negative token":     {body: `read line; say '{"id":2,"ok":true,"token":-1}'; read line`, unknown: true, want: "token is negative"},
		"since of long ago":  {body: `read line; say '{"id":2,"ok":true,"lease_ms":5,"since_ns":1}'; read line`, unknown: true, want: "out of range"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := contract.Open(t, named(script(t, opened+tc.body)), "c1", nil, 250*time.Millisecond)
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			if tc.want == "" || !strings.Contains(tc.want, "did not answer") {
				ctx, cancel = context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
			}
			g, err := l.Acquire(ctx, "k")
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want == "" && (g.Token != 7 || g.Since != 0 || g.Lease != 0 || g.Key != "k"):
				t.Errorf("grant %+v", g)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want one with %q", err, tc.want)
			case errors.Is(err, clients.ErrUnknown) != tc.unknown:
				t.Errorf("error %v, want unknown outcome: %v", err, tc.unknown)
			}
		})
	}
}

// A program is told when its user cancels an acquire. That it was cancelled is its user's word, and nobody else's.
func TestExecCancels(t *testing.T) {
	const cancels = `read line; say '{"id":1,"ok":true,"cancels":true}'; `
	asked := `read line; case $line in *'"op":"acquire"'*'"mode":"shared"'*'"cancel_ms":300'*) ;; *) exit 3;; esac; `
	for name, tc := range map[string]struct {
		answer    string
		cancelled bool
	}{
		"cancelled":            {`{"id":2,"ok":false,"error":"cancelled","definite":true}`, true},
		"granted all the same": {`{"id":2,"ok":true}`, false},
		"given up":             {`{"id":2,"ok":false,"error":"timeout","definite":true}`, false},
		"not for certain":      {`{"id":2,"ok":false,"error":"cancelled"}`, false},
	} {
		l := contract.Open(t, named(script(t, cancels+asked+"say '"+tc.answer+"'; read line")), "c1", nil, 250*time.Millisecond)
		_, err := l.(clients.Canceler).AcquireCancelled(t.Context(), "k", true, 300*time.Millisecond)
		if errors.Is(err, clients.ErrCancelled) != tc.cancelled {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(err, clients.ErrProgram) {
			t.Errorf("%s: it was not asked for what was wanted: %v", name, err)
		}
	}
	// Without a cancellation the word is one of many.
	l := contract.Open(t, named(script(t, cancels+`read line; say '{"id":2,"ok":false,"error":"cancelled","definite":true}'; read line`)), "c1", nil, 250*time.Millisecond)
	if _, err := l.Acquire(t.Context(), "k"); err == nil || errors.Is(err, clients.ErrCancelled) {
		t.Errorf("nobody had cancelled it: %v", err)
	}
}

// TestExecEndsTheWholeProgram: a shell that waits for the program is not the program.
func TestExecEndsTheWholeProgram(t *testing.T) {
	for name, form := range map[string]string{"after an assignment": "A=1 sh %s", "in a pipe": "sh %s | cat", "after another": "true && sh %s; true", "alone": "sh %s"} {
		t.Run(name, func(t *testing.T) {
			said := filepath.Join(t.TempDir(), "pid")
			body := filepath.Join(t.TempDir(), "program.sh")
			text := "say() { echo \"$1\"; }\n" + opened + "\necho $$ >" + said + "\nsleep 300; true\n"
			if err := os.WriteFile(body, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			l := contract.Open(t, named(fmt.Sprintf("exec:"+form, body)), "c1", nil, 250*time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if _, err := l.Acquire(ctx, "k"); !errors.Is(err, clients.ErrUnknown) {
				t.Fatalf("%v", err)
			}
			pid, err := os.ReadFile(said)
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(10 * time.Second); ; {
				p, ok := proc.Find(n)
				if !ok || p.Ended() {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("the program lives on: %+v", p)
				}
				time.Sleep(time.Millisecond) // its parent is gone: no event shows its end
			}
		})
	}
}

func TestExecOpen(t *testing.T) {
	tests := map[string]struct{ command, want string }{
		"no such command": {"/nowhere/lock", "child ended"},
		"refuses":         {strings.TrimPrefix(script(t, `read line; say '{"id":1,"ok":false,"error":"no server","definite":true}'; read line`), "exec:"), "no server"},
		"says hello":      {`echo hello`, `"hello"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			info := named("exec:" + tc.command)
			l, err := info.Open(t.Context(), clients.Options{Client: "c1", TTL: time.Second})
			if err == nil {
				l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want an error with %q", err, tc.want)
			}
		})
	}
	if _, err := Program(""); err == nil {
		t.Error("no command at all is accepted")
	}
}

// TestExecLines compares the child's input with the protocol's text.
func TestExecLines(t *testing.T) {
	log := filepath.Join(t.TempDir(), "lines")
	name := script(t, fmt.Sprintf(`n=0; while read -r line; do n=$((n+1)); printf '%%s\n' "$line" >>%s; say "{\"id\":$n,\"ok\":true}"; done`, log))
	info := named(name)
	l, err := info.Open(t.Context(), clients.Options{Servers: []string{"10.0.0.2:6379"}, Client: "c1", TTL: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	g, err := l.Acquire(context.Background(), "k0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(context.Background(), g); err != nil {
		t.Fatal(err)
	}
	l.Close()
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":1,"op":"open","servers":["10.0.0.2:6379"],"client":"c1","ttl_ms":1000,"options":{}}
{"id":2,"op":"acquire","key":"k0"}
{"id":3,"op":"release","key":"k0"}
{"id":4,"op":"close"}
`
	if string(got) != want {
		t.Errorf("child got\n%swant\n%s", got, want)
	}
}

func TestExecLostAndLease(t *testing.T) {
	// The first lost concerns no current grant and must not affect the next one.
	l := contract.Open(t, named(script(t, opened+`say '{"event":"lost","key":"k"}'; read line; say '{"id":2,"ok":true,"lease_ms":500}';
		read line; say '{"event":"lost","key":"k"}'; say '{"id":3,"ok":false,"error":"not held","definite":true}'; read line`)), "c1", nil, time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	before := history.Now()
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if g.Since < before || g.Since > history.Now() || g.Lease != 500*time.Millisecond {
		t.Errorf("grant %+v, asked for at %d", g, before)
	}
	select {
	case <-g.Lost:
		t.Error("lost at once: the notice was of an earlier grant")
	default:
	}
	if err := l.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("release: %v, want ErrNotHeld", err)
	}
}

// A lease that belongs to a session may have begun before the acquire: it lasts from then.
func TestExecLeaseOfASession(t *testing.T) {
	began := history.Now() - int64(time.Second)
	answer := fmt.Sprintf(`"ok":true,"lease_ms":60000,"since_ns":%d}'; `, began)
	l := contract.Open(t, named(script(t, `read line; say '{"id":1,"ok":true,"renew":true}'; read line; say '{"id":2,`+answer+`read line; say '{"id":3,`+answer+`read line`)), "c1", nil, time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.(clients.Renewer).Renew(ctx, g)
	if err != nil || g.Since != began || r.Since != began || r.Lease != time.Minute {
		t.Errorf("grant %+v, renewal %+v, %v; want since %d", g, r, err, began)
	}
}

// A program is asked for one thing at a time. What does not get its turn in time was not asked, and the program is not ended for it.
func TestExecOneAtATime(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked") // the program writes into it once it has read the second acquire
	if err := syscall.Mkfifo(asked, 0o600); err != nil {
		t.Fatal(err)
	}
	l := contract.Open(t, named(script(t, `read line; say '{"id":1,"ok":true,"renew":true}'; read line; say '{"id":2,"ok":true,"lease_ms":500}';
		read line; echo > `+asked+`; sleep 1; say '{"id":3,"ok":true,"lease_ms":500}'; read line; say '{"id":4,"ok":true,"lease_ms":500}'; read line`)), "c1", nil, time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.Acquire(ctx, "other")
		done <- err
	}()
	if _, err := os.ReadFile(asked); err != nil {
		t.Fatal(err)
	}
	soon, stop := context.WithTimeout(ctx, 10*time.Millisecond)
	defer stop()
	if _, err := l.(clients.Renewer).Renew(soon, g); err == nil || errors.Is(err, clients.ErrUnknown) || !strings.Contains(err.Error(), "another request was still open") {
		t.Errorf("renew beside an acquire: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("acquire: %v", err)
	}
	if _, err := l.(clients.Renewer).Renew(ctx, g); err != nil {
		t.Errorf("renew after it: %v", err)
	}
}

// What a program was opened with may be secret, and is no part of an error.
func TestExecHidesOptions(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := named(script(t, `read line; read line`)).Open(ctx, clients.Options{Servers: []string{"x:1"}, Client: "c1", TTL: time.Second, Extra: map[string]string{"password": "hunter2"}, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "did not answer") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("open: %v", err)
	}
}

func TestExecLost(t *testing.T) {
	l := contract.Open(t, named(script(t, opened+`read line; say '{"id":2,"ok":true}'; say '{"event":"lost","key":"k"}'; read line`)), "c1", nil, time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-g.Lost:
	case <-ctx.Done():
		t.Error("the child said lost and Lost never closed")
	}
}

// TestExecRestart: a child that broke down is replaced for the next acquire, and
// what it held is in doubt.
func TestExecRestart(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	l := contract.Open(t, named(script(t, opened+`read line; say '{"id":2,"ok":true}'; if [ ! -e `+once+` ]; then touch `+once+`; exit 1; fi; read line`)), "c1", nil, 250*time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	<-g.Ref.(execRef).child.Ended()
	if err := l.Release(ctx, g); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("release after the child's end: %v, want an unknown outcome", err)
	}
	if _, err := l.Acquire(ctx, "k"); err != nil {
		t.Errorf("acquire by a new child: %v", err)
	}
}

// A JVM has no file that it would share with those of other clients, and the options that the
// user gives to every JVM.
func TestJavaOptions(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-Xmx64m")
	out, err := Command("printenv JAVA_TOOL_OPTIONS").Output()
	if err != nil || string(out) != "-XX:-UsePerfData -Xmx64m\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// A scenario that was moved names a folder that is not there: the error says so, and does not speak of a shell.
func TestNoFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "gone")
	if _, err := startChild("true", folder); err == nil || !strings.Contains(err.Error(), folder) || !strings.Contains(err.Error(), "folder:") {
		t.Errorf("%v, want an error that names %s and the line to change", err, folder)
	}
}
