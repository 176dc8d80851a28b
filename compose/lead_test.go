package compose

import (
	"context"
	"errors"
	"testing"
	"time"
)

// answers is a Reach to servers that say what the test lets them say.
type answers struct {
	Reach
	say map[string]string // by node; a node that is not there does not answer
}

func (a answers) Ask(_ context.Context, n Node, _ *Probe) (string, bool, error) {
	text, ok := a.say[n.Name]
	if !ok {
		return "", false, errors.New("no answer")
	}
	return text, text != "", nil
}

func TestLeaderThatOthersName(t *testing.T) {
	d, err := Load(t.Context(), "redis-sentinel")
	if err != nil {
		t.Fatal(err)
	}
	of := func(addr string) string { return addr + "\r\n$4\r\n6379" }
	tests := []struct {
		name string
		say  map[string]string
		want string
	}{
		{"all agree", map[string]string{"sentinel1": of("10.0.0.2"), "sentinel2": of("10.0.0.2"), "sentinel3": of("10.0.0.2")}, "redis2"},
		{"one lags behind", map[string]string{"sentinel1": of("10.0.0.1"), "sentinel2": of("10.0.0.3"), "sentinel3": of("10.0.0.3")}, "redis3"},
		{"one answers", map[string]string{"sentinel3": of("10.0.0.1")}, "redis1"},
		{"none answers", nil, ""},
		{"a stranger", map[string]string{"sentinel1": of("10.0.0.9")}, ""},
		{"another's prefix", map[string]string{"sentinel1": of("10.0.0.11")}, ""},
		{"another port", map[string]string{"sentinel1": "10.0.0.1\r\n$4\r\n6380"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := NewMembers(d, answers{say: tt.say})
			for i, s := range d.Servers() {
				m.Add(Node{Name: s.Name, Role: Server, Addr: "10.0.0." + string(rune('1'+i)), Port: s.Spec.Ports[0]})
			}
			if got, err := m.Leader(t.Context()); got != tt.want || err != nil {
				t.Errorf("leader %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestLeaderThatSaysSo(t *testing.T) {
	d, err := Load(t.Context(), "etcd")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMembers(d, answers{say: map[string]string{"etcd1": "", "etcd3": "etcd_server_is_leader 1"}})
	for _, s := range d.Servers() {
		m.Add(Node{Name: s.Name, Role: Server, Addr: "10.0.0.1", Port: s.Spec.Ports[0]})
	}
	if got, err := m.Leader(t.Context()); got != "etcd3" || err != nil {
		t.Errorf("leader %q, %v; want etcd3", got, err)
	}
	if got := m.Takeover(); got != 0 {
		t.Errorf("takeover %v where none is given", got)
	}
}

func TestTakeover(t *testing.T) {
	d, err := Load(t.Context(), "redis-sentinel")
	if err != nil {
		t.Fatal(err)
	}
	if got := NewMembers(d, nil).Takeover(); got < 2*time.Second || got > 30*time.Second {
		t.Errorf("takeover %v: want what the sentinels' settings need", got)
	}
}
