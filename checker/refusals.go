package checker

import (
	"fmt"
	"strings"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
)

// refusals is how the acquires ended that brought no grant. If the lock was never granted, that tells its user why.
type refusals struct {
	n     int
	texts map[string]int // how often each error came
	first []string       // the errors in the order in which they came
}

// maxRefusals bounds how many different errors are told apart.
const maxRefusals = 16

// note takes an event of an acquire.
func (r *refusals) note(e *history.Event) {
	if e.Type == history.Invoke || e.Type == history.OK {
		return
	}
	r.n++
	if e.Error == "" {
		return
	}
	text := strings.ToValidUTF8(e.Error[:min(len(e.Error), maxFailure)], "")
	if _, known := r.texts[text]; !known && len(r.first) == maxRefusals {
		return
	} else if !known {
		r.first = append(r.first, text)
	}
	if r.texts == nil {
		r.texts = map[string]int{}
	}
	r.texts[text]++
}

// words name the error that came most often; "" for none.
func (r *refusals) words() string {
	most := ""
	for _, text := range r.first {
		if most == "" || r.texts[text] > r.texts[most] {
			most = text
		}
	}
	if most == "" {
		return ""
	}
	if r.texts[most] == r.n && r.n > 1 {
		return fmt.Sprintf("all %s ended with the error %q", of(r.n, "acquire"), most)
	}
	return fmt.Sprintf("%s of %s ended with the error %q", format.Count(r.texts[most]), of(r.n, "acquire"), most)
}
