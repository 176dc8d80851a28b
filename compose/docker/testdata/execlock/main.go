// Execlock is a lock on Redis that speaks picklock's JSON lines, for the test of
// clients that run in an image of the user's.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

type request struct {
	ID      int      `json:"id"`
	Op      string   `json:"op"`
	Servers []string `json:"servers"`
	Client  string   `json:"client"`
	TTL     int      `json:"ttl_ms"`
	Key     string   `json:"key"`
	Timeout int      `json:"timeout_ms"`
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var c *redis.Client
	var me string
	var ttl time.Duration
	for {
		var r request
		if in.Decode(&r) != nil {
			return
		}
		answer := map[string]any{"id": r.ID, "ok": true}
		switch r.Op {
		case "open":
			c, me, ttl = redis.NewClient(&redis.Options{Addr: r.Servers[0]}), r.Client, time.Duration(r.TTL)*time.Millisecond
		case "acquire":
			answer["ok"], answer["lease_ms"] = false, ttl.Milliseconds()
			answer["error"], answer["definite"] = "timeout", false
			for end := time.Now().Add(time.Duration(r.Timeout) * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if ok, err := c.SetNX(context.Background(), r.Key, me, ttl).Result(); err == nil && ok {
					answer = map[string]any{"id": r.ID, "ok": true, "lease_ms": ttl.Milliseconds()}
					break
				}
			}
		case "release":
			if c.Del(context.Background(), r.Key).Err() != nil { // without a look at the owner: that is the bug to be found
				answer["ok"], answer["error"], answer["definite"] = false, "del", false
			}
		}
		if out.Encode(answer) != nil {
			fmt.Fprintln(os.Stderr, "no process reads")
			return
		}
	}
}
