// Extend returns true although another client has held the lock in between.
// Needs a Redis: main [ADDRESS].
package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	address := append(os.Args, "127.0.0.1:6379")[1]
	rs := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: address})))
	start := time.Now()
	log := func(format string, args ...any) {
		fmt.Printf("%4d ms  %s\n", time.Since(start).Milliseconds(), fmt.Sprintf(format, args...))
	}
	counter, job := 0, rand.Text()
	a := rs.NewMutex(job, redsync.WithExpiry(time.Second), redsync.WithSetNXOnExtend())
	b := rs.NewMutex(job, redsync.WithExpiry(time.Second), redsync.WithSetNXOnExtend())

	log("A: Lock: err=%v", a.Lock())
	read := counter
	log("A: reads %d, and is slow", read)
	time.Sleep(1200 * time.Millisecond) // A's key expires
	log("B: Lock: err=%v", b.Lock())
	counter++
	log("B: writes %d", counter)
	ok, err := b.Unlock()
	log("B: Unlock: %v, err=%v", ok, err)

	ok, err = a.Extend()
	log("A: Extend: %v, err=%v", ok, err)
	if ok {
		counter = read + 1
		log("A: writes %d", counter)
		fmt.Println("BROKEN: A was told that it has kept the lock; B's update is lost")
		os.Exit(1)
	}
	fmt.Println("ok")
}
