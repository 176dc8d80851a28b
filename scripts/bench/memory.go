package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// benchMemory measures how much memory long histories of a lock take. They come through a
// pipe, since the longest would fill 12 GB of a disk; so the time is that of writing
// them, too.
func benchMemory() error {
	dir, err := os.MkdirTemp("", "picklock-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%-36s %10s %11s %11s %10s  valid\n", "history, through a pipe", "events", "time", "CPU time", "memory")
	for _, n := range []int{10_000_000, 100_000_000} {
		if err := measurePiped(filepath.Join(dir, fmt.Sprint(n)), shape{events: n, clients: 50}); err != nil {
			return err
		}
	}
	return nil
}

func measurePiped(pipe string, s shape) error {
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() { written <- s.write(pipe, os.DevNull) }()
	m, err := child("-exact", pipe, "")
	if err != nil {
		return err
	}
	if err := <-written; err != nil {
		return err
	}
	fmt.Printf("%-36s %10d %9.1f s %9.1f s %7d MB  %s\n", "lock", s.events, m.Took.Seconds(), m.CPU.Seconds(), m.RSS>>20, m.Valid)
	return nil
}
