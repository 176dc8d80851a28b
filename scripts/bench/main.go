// Command bench measures the checker: make bench.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/picklock/picklock/checker"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "-check" {
		one(os.Args[2], os.Args[3])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "-gen" {
		var n int
		fmt.Sscan(os.Args[2], &n)
		_ = shape{events: n, clients: 50, register: os.Args[5] == "r"}.write(os.Args[3], os.Args[4])
		return
	}
	dir, _ := os.MkdirTemp("", "bench")
	defer os.RemoveAll(dir)
	for _, reg := range []bool{false, true} {
		s := shape{events: 1_000_000, clients: 50, register: reg}
		if err := s.write(dir+"/h", dir+"/r"); err != nil {
			panic(err)
		}
	}
}

type measured struct {
	Took  time.Duration
	Valid string
	RSS   int64
}

func one(events, effects string) {
	if p := os.Getenv("PROF"); p != "" {
		f, _ := os.Create(p)
		_ = pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	start := time.Now()
	v, err := checker.CheckFiles(context.Background(), events, effects, checker.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(measured{Took: time.Since(start), Valid: v.Valid.String() + " " + v.Why})
}
