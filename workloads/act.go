package workloads

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
)

// Check is the act of a client that checks whether its lease has time left. Every
// other act is named after the operation that it does.
const Check = "check"

// Held is the act of a client that asks its library whether it holds the lock.
const Held = "held?"

// Downgrade is the act of a client that has a read-write lock exclusively and shares it from then on. It is an acquire
// in the history, in the mode of that name.
const Downgrade = history.Downgrade

// The acquires in a mode of their own. Of a client that holds a reentrant lock, the harness asks for the nested one.
const (
	acquireShared = history.Acquire + " " + history.Shared
	acquireNested = history.Acquire + " " + history.Nested
)

// Again is the mode of a release of what the client has released already, as a retry or a second clean-up would.
const Again = "again"

const releaseAgain = history.Release + " " + Again

// Other is the mode of an acquire of the other key beside the one that the client holds, and of the release of that.
const Other = "other"

const (
	acquireOther = history.Acquire + " " + Other
	releaseOther = history.Release + " " + Other
)

// ErrNoAct: a scripted client can do no such thing.
var ErrNoAct = errors.New("no such act")

// Act is what a scripted client is asked to do.
type Act struct {
	Do   string // Check, Held, or the operation
	Mode string // of an acquire: as history.Event has it, or Other; of a release: Again or Other
	// Second: the acquire is for the second key.
	Second bool
	// Span is how long an acquire may wait, or for how long the client goes on renewing; 0 for no such time.
	Span time.Duration
	// Cancelled: the client cancels the acquire when Span is over, and does not tell its library before how long it may wait.
	Cancelled bool
}

// ParseAct reads an act: its words, and for an acquire how long it may wait or when it is cancelled, as in "acquire within
// 500ms" and "acquire cancelled after 500ms", for a renew for how long the client goes on renewing, as in "renew for 5s".
func ParseAct(text string) (Act, error) {
	words, word, limit := cutSpan(text)
	words, second, err := cutKey(words)
	if err != nil {
		return Act{}, err
	}
	if acts[words] == nil {
		return Act{}, fmt.Errorf("%w: %q", ErrNoAct, text)
	}
	a := Act{Second: second}
	a.Do, a.Mode, _ = strings.Cut(words, " ")
	if a.Mode == Other && second {
		return Act{}, fmt.Errorf("%w: the other key is the one that the client does not hold", ErrNoKey)
	}
	if word == nil {
		return a, nil
	}
	a.Cancelled = word.Cancelled
	if a.Span, err = time.ParseDuration(limit); err != nil || a.Span <= 0 {
		return Act{}, fmt.Errorf("%q is no length of time", limit)
	}
	if a.Mode == Other && a.Cancelled {
		return Act{}, fmt.Errorf("%w: an acquire of the other key cannot be cancelled", ErrNoAct)
	}
	if a.Do != word.Do {
		return Act{}, fmt.Errorf("only an acquire can be given a limit, as in acquire within 500ms or acquire cancelled after 500ms, and only a renew a time, as in renew for 5s, not %q", words)
	}
	return a, nil
}

// SpanWord stands between an act and its time.
type SpanWord struct {
	Word      string // with the spaces around it
	Do        string // the act
	Cancelled bool   // Act.Cancelled
}

// SpanWords are all of them.
var SpanWords = []SpanWord{
	{" within ", history.Acquire, false},
	{" cancelled after ", history.Acquire, true},
	{" for ", history.Renew, false},
}

// cutSpan takes the time off the words of an act, and the word before it; nil if there is none.
func cutSpan(text string) (words string, word *SpanWord, limit string) {
	for i := range SpanWords {
		if words, limit, ok := strings.Cut(text, SpanWords[i].Word); ok {
			return words, &SpanWords[i], limit
		}
	}
	return text, nil, ""
}

// words is the act without its key and its time.
func (a Act) words() string {
	if a.Mode != "" {
		return a.Do + " " + a.Mode
	}
	return a.Do
}

// String is the act as ParseAct reads it.
func (a Act) String() string {
	text := a.words()
	if a.Second {
		text += onSecondKey
	}
	if a.Span > 0 {
		text += a.SpanWord() + a.Span.String()
	}
	return text
}

// SpanWord stands between the act and its time: "acquire within 500ms", "renew for 5s".
func (a Act) SpanWord() string {
	for _, w := range SpanWords {
		if w.Do == a.Do && w.Cancelled == a.Cancelled {
			return w.Word
		}
	}
	return SpanWords[0].Word // of an act that has no time
}

// Acts lists what a program can have a scripted client do, in the order of a critical section.
func Acts() []string {
	return []string{history.Acquire, acquireShared, acquireOther, history.Read, Check, history.Write, history.Add, history.Renew, Held, Downgrade, history.Release, releaseAgain, releaseOther}
}
