package shard

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	gitlab := map[string]string{"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "5"}
	kubernetes := map[string]string{"JOB_COMPLETION_INDEX": "2"}
	for _, c := range []struct {
		text string
		env  map[string]string
		want Shard
		err  string
	}{
		{"", gitlab, Shard{}, ""},
		{"1/3", nil, Shard{1, 3}, ""},
		{"3/3", gitlab, Shard{3, 3}, ""},
		{"0/3", nil, Shard{}, "want I/N"},
		{"4/3", nil, Shard{}, "want I/N"},
		{"1", nil, Shard{}, "want I/N"},
		{"1/3/4", nil, Shard{}, "want I/N"},
		{"1/99999", nil, Shard{}, "want I/N"},
		{"auto", gitlab, Shard{2, 5}, ""},
		{"auto/7", gitlab, Shard{2, 7}, ""},
		{"auto/3", kubernetes, Shard{3, 3}, ""},
		{"auto/2", kubernetes, Shard{}, "want I/N"},
		{"auto", kubernetes, Shard{}, "auto/N"},
		{"auto/3", map[string]string{"JOB_COMPLETION_INDEX": "x"}, Shard{}, "want a number"},
		{"auto", nil, Shard{}, "neither"},
	} {
		got, err := Parse(c.text, func(name string) string { return c.env[name] })
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("Parse(%q) with %v = %v, %v; want %v, %q", c.text, c.env, got, err, c.want, c.err)
		}
	}
}

// TestHas: every place is in exactly one of the shards, and in the whole.
func TestHas(t *testing.T) {
	for of := 1; of <= 5; of++ {
		for place := range 20 {
			in := 0
			for i := 1; i <= of; i++ {
				if (Shard{i, of}).Has(place) {
					in++
				}
			}
			if in != 1 || !(Shard{}).Has(place) {
				t.Errorf("place %d is in %d of %d shards", place, in, of)
			}
		}
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		shards []Shard
		want   string
	}{
		{[]Shard{{2, 3}, {1, 3}, {3, 3}}, ""},
		{[]Shard{{1, 1}}, ""},
		{[]Shard{{2, 3}, {1, 3}}, "3/3"},
		{[]Shard{{2, 3}, {1, 3}, {2, 3}}, "twice"},
		{[]Shard{{1, 2}, {2, 3}}, "not of one whole"},
		{[]Shard{{}}, "no shard"},
		{nil, "nothing"},
	} {
		err := Complete(c.shards)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Complete(%v) = %v, want %q", c.shards, err, c.want)
		}
		if missing := c.want == "3/3"; errors.Is(err, ErrMissing) != missing {
			t.Errorf("Complete(%v): %v is ErrMissing: %v", c.shards, err, !missing)
		}
	}
}
