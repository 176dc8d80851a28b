package local

import (
	"fmt"
	"syscall"
	"time"

	"github.com/picklock/picklock/internal/proc"
)

// killTree ends all processes of the node whose first process is pid (SIGKILL) and
// returns when those that are not this process's children are gone. It stops them first: none
// may make another while the others are looked for, nor live on as an orphan.
func killTree(pid int) error {
	if err := sendTo(-pid, syscall.SIGSTOP); err != nil {
		return err
	}
	seen, memory := map[int]bool{}, shared{}
	const rounds = 50 // a fork bomb is faster
	for range rounds {
		tree, err := proc.Tree(pid)
		if err != nil {
			return err
		}
		settled := true
		for _, r := range tree {
			if !seen[r.PID] {
				memory.note(r.PID)
			}
			if r.Group == pid {
				// On its way into the stop it may still make a process.
				settled = settled && (r.Stopped() || r.Ended())
			} else if !seen[r.PID] && !r.Ended() {
				if err := sendTo(r.PID, syscall.SIGKILL); err != nil {
					return err
				}
				settled = false
			}
			seen[r.PID] = true
		}
		if settled {
			break
		}
	}
	if err := killGroup(pid); err != nil {
		return err
	}
	// The first one first: its end gives its children to another parent. Its
	// starter waits for it.
	if err := ended(pid); err != nil {
		return err
	}
	for other := range seen {
		if other == pid {
			continue
		}
		if err := ended(other); err != nil {
			return err
		}
		// Where orphans are given to us its number stays taken until we wait for it.
		_, _ = syscall.Wait4(other, nil, syscall.WNOHANG, nil)
	}
	memory.remove(seen)
	return nil
}

func killGroup(pid int) error { return sendTo(-pid, syscall.SIGKILL) }

// ended waits until a killed process runs no more: a server that is started again must
// not find its predecessor's.
func ended(pid int) error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		tree, err := proc.Tree(pid)
		if err != nil {
			return err
		}
		if len(tree) == 0 || tree[0].PID != pid || tree[0].Ended() {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d is still there after SIGKILL", pid)
		}
		time.Sleep(time.Millisecond) // the kernel notifies only the parent
	}
}

// sendTo sends a signal to a process or, negative, a group; one that is gone needs none.
func sendTo(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("send signal %d to process %d: %w", sig, pid, err)
	}
	return nil
}
