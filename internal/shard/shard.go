// Package shard divides numbered work among machines that do not know of each other, as the
// matrices of build servers start them.
package shard

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Shard is one of several equal parts. The zero Shard is the whole.
type Shard struct {
	Index int `json:"index"` // from 1
	Of    int `json:"of"`
}

// most is how many parts there may be.
const most = 10000

// Parse reads I/N with I from 1. auto takes both from what the build server tells each of
// its jobs, auto/N the place alone: GitLab's parallel, Kubernetes' Indexed Jobs, and others
// that set CI_NODE_INDEX and CI_NODE_TOTAL.
func Parse(text string, getenv func(string) string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	place, total, _ := strings.Cut(text, "/")
	if place == "auto" {
		var err error
		if place, total, err = told(total, getenv); err != nil {
			return Shard{}, err
		}
	}
	i, err := strconv.Atoi(place)
	n, err2 := strconv.Atoi(total)
	if err != nil || err2 != nil || i < 1 || n < i || n > most {
		return Shard{}, fmt.Errorf("shard %q: want I/N with I from 1 to N, as 2/3, auto, or auto/N", text)
	}
	return Shard{i, n}, nil
}

// told is what the machine's surroundings say.
func told(total string, getenv func(string) string) (place, of string, err error) {
	if i := getenv("JOB_COMPLETION_INDEX"); i != "" {
		n, err := strconv.Atoi(i)
		if err != nil {
			return "", "", fmt.Errorf("JOB_COMPLETION_INDEX is %q: want a number", i)
		}
		if total == "" {
			return "", "", errors.New("JOB_COMPLETION_INDEX is set, but Kubernetes does not tell a pod how many there are: say auto/N with the Job's completions")
		}
		return strconv.Itoa(n + 1), total, nil
	}
	if i := getenv("CI_NODE_INDEX"); i != "" {
		if total == "" {
			total = getenv("CI_NODE_TOTAL")
		}
		return i, total, nil
	}
	return "", "", errors.New("shard auto: neither JOB_COMPLETION_INDEX nor CI_NODE_INDEX is set: say I/N")
}

// Whole says that it is no part of anything.
func (s Shard) Whole() bool { return s.Of == 0 }

// Has says that the work at a place, from 0, is in the shard.
func (s Shard) Has(place int) bool { return s.Whole() || place%s.Of == s.Index-1 }

func (s Shard) String() string {
	if s.Whole() {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Complete says what is missing for the shards to be the whole, each once.
func Complete(all []Shard) error {
	if len(all) == 0 {
		return errors.New("there is nothing to put together")
	}
	seen := map[int]bool{}
	for _, s := range all {
		switch {
		case s.Whole():
			return errors.New("one is no shard: it was made without --shard")
		case s.Of != all[0].Of:
			return fmt.Errorf("shards %s and %s are not of one whole", all[0], s)
		case seen[s.Index]:
			return fmt.Errorf("shard %s is there twice", s)
		}
		seen[s.Index] = true
	}
	var missing []string
	for i := 1; i <= all[0].Of; i++ {
		if !seen[i] {
			missing = append(missing, Shard{i, all[0].Of}.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s", ErrMissing, strings.Join(missing, ", "))
	}
	return nil
}

// ErrMissing is that a shard is not there.
var ErrMissing = errors.New("missing shards")
