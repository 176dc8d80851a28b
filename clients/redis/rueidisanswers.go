package redis

import (
	"context"
	"sync"

	"github.com/redis/rueidis"
)

// rueidisAnswers keeps the last answer to a script on each of a lock's Redis keys:
// 1 if the key held the client's own value, 0 if it did not. The library sends one script at a
// time for each key, and at last the one that deletes it.
type rueidisAnswers struct {
	mu   sync.Mutex
	last map[string]map[string]int64 // by lock, by Redis key
}

func newRueidisAnswers() *rueidisAnswers {
	return &rueidisAnswers{last: map[string]map[string]int64{}}
}

// clear forgets the answers for a lock.
func (a *rueidisAnswers) clear(lock string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[lock] = map[string]int64{}
}

// count says on how many keys the last answer was 1, and on how many 0.
func (a *rueidisAnswers) count(lock string) (ours, gone int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.last[lock] {
		if n == 1 {
			ours++
		} else {
			gone++
		}
	}
	return ours, gone
}

func (a *rueidisAnswers) note(key string, r rueidis.RedisResult) {
	name := rueidisName(key)
	if name == "" {
		return
	}
	n, err := r.AsInt64()
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.last[name]
	if of == nil {
		of = map[string]int64{}
		a.last[name] = of
	}
	if err != nil {
		delete(of, key) // unknown
		return
	}
	of[key] = n
}

// rueidisClient observes the answers to the library's scripts, without changing them.
type rueidisClient struct {
	rueidis.Client
	answers *rueidisAnswers
}

// Do implements rueidis.Client. The command is gone after the call.
func (c *rueidisClient) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	key := ""
	if words := cmd.Commands(); len(words) > 3 && (words[0] == "EVALSHA" || words[0] == "EVAL") {
		key = words[3]
	}
	r := c.Client.Do(ctx, cmd)
	if key != "" {
		c.answers.note(key, r)
	}
	return r
}
