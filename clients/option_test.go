package clients

import (
	"strings"
	"testing"
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
