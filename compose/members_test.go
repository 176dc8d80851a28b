package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pretended is a runtime of which only the words are real.
type pretended struct {
	mu     sync.Mutex
	asked  []string
	answer map[string]bool // by "node question"
	sizes  map[string]int64
	deaf   bool // Cut does nothing
}

func (p *pretended) Ask(_ context.Context, n Node, q *Probe) (string, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, n.Name+" "+q.Send)
	yes, known := p.answer[n.Name+" "+q.Send]
	if !known {
		return "", false, errors.New("no answer")
	}
	return "1.2.3", yes, nil
}

func (p *pretended) Sizes(context.Context, string, string) (map[string]int64, error) {
	return maps.Clone(p.sizes), nil
}

func (p *pretended) Cut(_ context.Context, _ string, sizes map[string]int64) error {
	if !p.deaf {
		maps.Copy(p.sizes, sizes)
	}
	return nil
}

// pair is a cluster of two servers, the second of which can take over, and a client.
func pair(unsynced string) (*Members, *pretended) {
	spec := Spec{
		Role: Server, Ports: []int{1}, Leader: &Probe{Send: "leads?"}, Promote: &Probe{Send: "lead"}, Follow: &Probe{Send: "follow {addr}:{port}"},
		Version: &Probe{Send: "version?"}, Log: &Log{Files: "log/*", Unsynced: unsynced},
	}
	def := &Definition{Name: "pair", Services: []Service{
		{Name: "s1", Image: "example.org:5000/folder/server:1", Spec: spec}, {Name: "s2", Image: "server@sha256:0", Spec: spec}, {Name: "aside"},
	}}
	p := &pretended{answer: map[string]bool{}, sizes: map[string]int64{"log/a": 10}}
	m := NewMembers(def, p)
	m.Add(Node{Name: "s1", Role: Server, Addr: "10.0.0.1", Port: 1, NetNS: "its own"})
	m.Add(Node{Name: "s2", Role: Server, Addr: "10.0.0.2", Port: 1})
	m.Add(Node{Name: "c1", Role: Client, Addr: "10.0.0.3"})
	return m, p
}

// begin has a node run until end is called.
func begin(t *testing.T, m *Members, name string) (end func(error)) {
	t.Helper()
	life, err := m.Began(name, 7, "/proc/7/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	return func(err error) { m.Ended(name, life, err, func() error { return fmt.Errorf("%s died", name) }) }
}

func died(m *Members) error {
	select {
	case err := <-m.Died():
		return err
	default:
		return nil
	}
}

func TestMembersTellDeathFromKill(t *testing.T) {
	broken := errors.New("exit status 1")
	tests := []struct {
		name, node  string
		how         error
		kill, close bool
		want        string
	}{
		{"a server ends", "s1", nil, false, false, "s1 died"},
		{"a server breaks", "s1", broken, false, false, "s1 died"},
		{"a server is killed", "s1", broken, true, false, ""},
		{"a client ends", "c1", nil, false, false, ""},
		{"a client breaks", "c1", broken, false, false, "c1 died"},
		{"a client is killed", "c1", broken, true, false, ""},
		{"all are closed", "s1", broken, false, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := pair("1s")
			end := begin(t, m, tt.node)
			if n, err := m.Find(tt.node); err != nil || n.PID != 7 || n.NetNS != "/proc/7/ns/net" {
				t.Errorf("it runs as %+v, %v", n, err)
			}
			switch {
			case tt.close:
				m.Closing()
				end(tt.how)
			case tt.kill:
				err := m.End(t.Context(), tt.node, func(pid int) error {
					if pid != 7 {
						t.Errorf("kill %d", pid)
					}
					end(tt.how) // in any order
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			default:
				end(tt.how)
			}
			if got := fmt.Sprint(died(m)); got != tt.want && (got != "<nil>" || tt.want != "") {
				t.Errorf("reported %s, want %q", got, tt.want)
			}
			n, err := m.Find(tt.node)
			if want := map[string]string{"s1": "its own"}[tt.node]; err != nil || n.PID != 0 || n.NetNS != want {
				t.Errorf("it is down as %+v, %v", n, err)
			}
			if err := m.End(t.Context(), tt.node, func(int) error { return errors.New("killed twice") }); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMembersKillWaitsForTheEnd(t *testing.T) {
	m, _ := pair("1s")
	end := begin(t, m, "s1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.End(ctx, "s1", func(int) error { return nil }); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "still there") {
		t.Errorf("killed, but not gone: %v", err)
	}
	if err := m.End(ctx, "s1", func(int) error { return errors.New("not allowed") }); err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("not killed: %v", err)
	}
	end(nil)
	// Started anew, its own end counts again.
	begin(t, m, "s1")(nil)
	if err := died(m); err == nil {
		t.Error("a death after a kill and a start was not reported")
	}
	if _, err := m.Find("s3"); err == nil || !strings.Contains(err.Error(), "have s1, s2, c1") {
		t.Errorf("an unknown node: %v", err)
	}
}

func TestMembersPromote(t *testing.T) {
	ctx := t.Context()
	m, p := pair("1s")
	begin(t, m, "s1")
	begin(t, m, "s2")
	p.answer["s2 lead"], p.answer["s1 leads?"], p.answer["s2 leads?"] = true, true, false
	if leader, err := m.Leader(ctx); leader != "s1" || err != nil {
		t.Errorf("leader %q, %v", leader, err)
	}
	if yes, err := m.Leads(ctx, "s2"); yes || err != nil {
		t.Errorf("s2 leads: %v, %v", yes, err)
	}
	p.asked = nil
	if err := m.Promote(ctx, "s2"); err != nil {
		t.Error(err)
	}
	// The one that does not answer is left as it is, one that is down is not asked.
	if want := []string{"s2 lead", "s1 follow 10.0.0.2:1"}; !slices.Equal(p.asked, want) {
		t.Errorf("asked %q, want %q", p.asked, want)
	}
	m, p = pair("1s")
	begin(t, m, "s2")
	p.answer["s2 lead"] = true
	if err := m.Promote(ctx, "s2"); err != nil || !slices.Equal(p.asked, []string{"s2 lead"}) {
		t.Errorf("asked %q, %v", p.asked, err)
	}
	if err := m.Promote(ctx, "s1"); err == nil {
		t.Error("promoted a server that does not answer")
	}
	p.answer["s2 lead"] = false
	if err := m.Promote(ctx, "s2"); err == nil || !strings.Contains(err.Error(), "does not answer as") {
		t.Errorf("promoted a server that refuses: %v", err)
	}
	m.def.Services[1].Spec.Promote = nil
	if err := m.Promote(ctx, "s2"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("no replicas: %v", err)
	}
	if _, err := m.Leads(ctx, "s2"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("no replicas: %v", err)
	}
	if err := m.Promote(ctx, "c1"); err == nil || !strings.Contains(err.Error(), "not a server") {
		t.Errorf("promoted a client: %v", err)
	}
}

// TestMembersRefuse: one that is down when it is to take writes again is told so when it is started, and only then.
func TestMembersRefuse(t *testing.T) {
	ctx := t.Context()
	m, p := pair("1s")
	r := &Refusal{On: &Probe{Send: "refuse"}, Off: &Probe{Send: "take"}, Is: &Probe{Send: "refuses?"}}
	m.def.Services[0].Spec.Refuse = r
	end := begin(t, m, "s1")
	begin(t, m, "s2")
	p.answer["s1 refuse"], p.answer["s1 take"], p.answer["s1 refuses?"] = true, true, true
	if err := m.Refuse(ctx, "s1", true); err != nil {
		t.Error(err)
	}
	if yes, err := m.Refuses(ctx, "s1"); !yes || err != nil {
		t.Errorf("refuses: %v, %v", yes, err)
	}
	// A second one overlaps it, and the server is started anew meanwhile.
	if err := errors.Join(m.Refuse(ctx, "s1", true), m.Refuse(ctx, "s1", false), m.Recall(ctx, "s1", nil), m.Refuse(ctx, "s1", false)); err != nil {
		t.Error(err)
	}
	if want := []string{"s1 refuse", "s1 refuses?", "s1 refuse", "s1 refuse", "s1 take"}; !slices.Equal(p.asked, want) {
		t.Errorf("asked %q, want %q", p.asked, want)
	}
	end(nil)
	p.asked = nil
	if err := m.Refuse(ctx, "s1", false); err != nil || len(p.asked) > 0 {
		t.Errorf("asked %q while it was down: %v", p.asked, err)
	}
	begin(t, m, "s1")
	if err := errors.Join(m.Recall(ctx, "s1", nil), m.Recall(ctx, "s2", nil)); err != nil || !slices.Equal(p.asked, []string{"s1 take"}) {
		t.Errorf("asked %q when it was started again, %v", p.asked, err)
	}
	p.answer["s1 refuse"] = false
	if err := m.Refuse(ctx, "s1", true); err == nil || !strings.Contains(err.Error(), "does not answer as") {
		t.Errorf("one that does not do it: %v", err)
	}
	if err := m.Refuse(ctx, "s2", true); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("nothing says how: %v", err)
	}
	if !m.CanRefuse("s1") || m.CanRefuse("s2") || m.CanRefuse("c1") {
		t.Errorf("can refuse: s1 %v, s2 %v, a client %v", m.CanRefuse("s1"), m.CanRefuse("s2"), m.CanRefuse("c1"))
	}
	if _, err := m.Refuses(ctx, "s2"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("nothing says how: %v", err)
	}
	if err := (&Refusal{On: r.On, Off: r.Off}).check(); err == nil || !strings.Contains(err.Error(), "want on, off and is") {
		t.Errorf("a refusal that nobody can see: %v", err)
	}
}

func TestMembersVersions(t *testing.T) {
	m, p := pair("1s")
	p.answer["s1 version?"] = true
	if v := m.Versions(t.Context()); !maps.Equal(v, map[string]string{"server": "1.2.3"}) || len(p.asked) != 1 {
		t.Errorf("versions %v, asked %q", v, p.asked)
	}
}

// What a power loss takes away is no more than the server's own settings leave in
// danger.
func TestMembersLosePower(t *testing.T) {
	tests := []struct {
		name, unsynced string
		after          time.Duration // from the mark to the kill
		kill           time.Duration // how long that took
		grown          map[string]int64
		deaf           bool
		lost           int64
		left           int64 // of log/a
		want           string
	}{
		{"in time", "1s", time.Second, 0, map[string]int64{"log/a": 25}, false, 15, 10, ""},
		{"and a new file", "1s", 0, time.Second, map[string]int64{"log/a": 11, "log/b": 5}, false, 6, 10, ""},
		{"nothing written", "1s", 0, 0, map[string]int64{}, false, 0, 10, ""},
		{"too late", "1s", time.Second + 1, 0, map[string]int64{"log/a": 25}, false, 0, 25, "its log was marked 1s before, and what is older than 1s is on the disk"},
		{"too slow", "1s", time.Second, 1, map[string]int64{"log/a": 25}, false, 0, 25, "its log was marked 1s before"},
		{"all is synced", "0s", time.Hour, 0, map[string]int64{"log/a": 25}, false, 0, 25, ""},
		{"it was not cut", "1s", 0, 0, map[string]int64{"log/a": 25}, true, 0, 25, "log/a has 25 bytes instead of 10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				m, p := pair(tt.unsynced)
				p.deaf = tt.deaf
				end := begin(t, m, "s1")
				if err := m.MarkSynced(ctx, "s1"); err != nil {
					t.Fatal(err)
				}
				if _, err := m.LosePower(ctx, "s1"); err == nil || !strings.Contains(err.Error(), "still runs") {
					t.Errorf("it runs: %v", err)
				}
				time.Sleep(tt.after)
				maps.Copy(p.sizes, tt.grown)
				if err := m.End(ctx, "s1", func(int) error { time.Sleep(tt.kill); go end(nil); return nil }); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute) // how long the rest takes does not matter
				lost, err := m.LosePower(ctx, "s1")
				if lost != tt.lost || p.sizes["log/a"] != tt.left || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("lost %d, left %d, %v; want %d, %d, %q", lost, p.sizes["log/a"], err, tt.lost, tt.left, tt.want)
				}
			})
		})
	}
}

func TestMembersPowerLossNeedsALog(t *testing.T) {
	ctx := t.Context()
	m, p := pair("1s")
	end := begin(t, m, "s1")
	if err := m.Loses(ctx, "s1"); err == nil || !strings.Contains(err.Error(), "never marked") {
		t.Errorf("not yet marked: %v", err)
	}
	if err := m.MarkSynced(ctx, "s1"); err != nil {
		t.Fatal(err)
	}
	if err := m.Loses(ctx, "s1"); err != nil {
		t.Errorf("marked: %v", err)
	}
	end(nil)
	if _, err := m.LosePower(ctx, "s1"); err == nil || !strings.Contains(err.Error(), "not killed") {
		t.Errorf("it was not killed: %v", err)
	}
	end = begin(t, m, "s2")
	if err := m.End(ctx, "s2", func(int) error { go end(nil); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := m.LosePower(ctx, "s2"); err == nil || !strings.Contains(err.Error(), "never marked") {
		t.Errorf("never marked: %v", err)
	}
	p.sizes = nil
	if err := m.MarkSynced(ctx, "s1"); err == nil || !strings.Contains(err.Error(), "no file is there") {
		t.Errorf("no file: %v", err)
	}
	m.def.Services[0].Spec.Log = &Log{Files: "../log", Unsynced: "1s"}
	if err := m.MarkSynced(ctx, "s1"); err == nil || !strings.Contains(err.Error(), "not below the data directory") {
		t.Errorf("elsewhere: %v", err)
	}
	m.def.Services[0].Spec.Log = nil
	if err := m.MarkSynced(ctx, "s1"); err == nil || !strings.Contains(err.Error(), "names no log") {
		t.Errorf("no log: %v", err)
	}
}

// The end of a server during its restart is an error of that, and reported by Died only
// afterwards.
func TestEndWhileRestarting(t *testing.T) {
	m, _ := pair("")
	done := m.Restarting("s1")
	begin(t, m, "s1")(errors.New("exit status 1"))
	if err := died(m); err != nil {
		t.Errorf("reported twice: %v", err)
	}
	done()
	begin(t, m, "s1")(errors.New("exit status 1"))
	if died(m) == nil {
		t.Error("afterwards it is not reported")
	}
}
