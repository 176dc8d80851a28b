package clients

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	got, err := ParseOptions([]string{"a=1", "b=x=y", "c="})
	if err != nil || got["a"] != "1" || got["b"] != "x=y" || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range [][]string{{"a"}, {"=1"}, {"a=1", "a=1"}} {
		if got, err := ParseOptions(bad); err == nil {
			t.Errorf("%v: read as %v; want an error", bad, got)
		}
	}
}

func TestParseAbilities(t *testing.T) {
	for text, want := range map[string]string{
		"tokens=true": "", "kind=rw": "", "permits=7": "", "lease=no": "",
		"tokens": "want NAME=VALUE", "tokens=perhaps": "want yes or no", "token=yes": "no such ability: have tokens, lease",
		"kind=latch": "want mutex", "permits=0": "1 to 1000", "kind=": "want mutex",
	} {
		_, err := ParseAbilities([]string{text})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	redis := Info{Name: "redis"}
	if err := redis.CheckAbilities(map[string]string{"tokens": "yes"}); err == nil || !strings.Contains(err.Error(), "--ability is for exec locks") {
		t.Errorf("of a lock that is known: %v", err)
	}
}

// Only a safer setting that is possible and not in force is a mitigation.
func TestMitigations(t *testing.T) {
	i := Info{Name: "l", Options: []Option{
		{Name: "plain", Default: "1"},
		{Name: "switch", Default: "no", Safer: []string{"yes"}},
		{Name: "clock", Default: "server", Safer: []string{"server"}},
		{Name: "delay", Default: "2 leases", Safer: []string{"2 leases", "4 leases"}, Check: func(v string) error {
			if d, err := time.ParseDuration(v); err != nil || d > time.Minute {
				return errors.New("want up to 1m")
			}
			return nil
		}},
	}}
	for name, tc := range map[string]struct {
		extra map[string]string
		ttl   time.Duration
		want  []Setting
	}{
		"defaults":      {nil, time.Second, []Setting{{"switch", "yes"}, {"delay", "4s"}}},
		"short lease":   {nil, 250 * time.Millisecond, []Setting{{"switch", "yes"}, {"delay", "1s"}}},
		"already":       {map[string]string{"switch": "yes", "delay": "4s"}, time.Second, []Setting{{"delay", "2s"}}},
		"back":          {map[string]string{"clock": "client", "plain": "7"}, time.Second, []Setting{{"switch", "yes"}, {"clock", "server"}, {"delay", "4s"}}},
		"cannot be had": {nil, 20 * time.Second, []Setting{{"switch", "yes"}}},
	} {
		if got := i.Mitigations(tc.extra, tc.ttl); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
