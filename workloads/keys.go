package workloads

import (
	"errors"
	"fmt"
	"strings"

	"github.com/picklock/picklock/history"
)

// A scripted client knows two keys. The name of the second begins with that of the first: a lock that takes
// a pattern or a prefix for a key confuses the two.

// SecondKey is the second of a run's keys; first is the name of the first.
func SecondKey(first string) string { return first + "0" }

// ErrNoKey: there is no such key.
var ErrNoKey = errors.New("a client has two keys: acquire is for the first, acquire key 2 for the second")

// onSecondKey stands behind the words of an acquire that is for the second key.
const onSecondKey = " key 2"

// cutKey takes the key off the words of an acquire. second says that it is the second one.
func cutKey(words string) (rest string, second bool, err error) {
	rest, number, keyed := strings.Cut(words, " key ")
	if do, _, _ := strings.Cut(rest, " "); !keyed || do != history.Acquire {
		return words, false, nil
	}
	if number != "1" && number != "2" {
		return "", false, fmt.Errorf("key %q: %w", number, ErrNoKey)
	}
	return rest, number == "2", nil
}
