package conform

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/proc"
)

// comm is the name of a process.
func comm(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "process"
	}
	return strings.TrimSpace(string(name))
}

// listed says whether this machine lists processes.
func listed() error {
	if all, err := proc.List(); err != nil || len(all) == 0 {
		return skip("this machine does not list its processes")
	}
	return nil
}

func staysInGroup(ctx context.Context, t *checkRun) error {
	if err := listed(); err != nil {
		return err
	}
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	for _, m := range p.members() {
		if m.Group != p.cmd.Process.Pid {
			return Problem{fmt.Sprintf("%s (process %d) left the client's process group: what pauses or kills the client does not reach it", comm(m.PID), m.PID), "make no process group or session of your own (setsid, start_new_session, detached)"}
		}
	}
	return nil
}

func leavesNobody(ctx context.Context, t *checkRun) error {
	if err := listed(); err != nil {
		return err
	}
	for _, way := range []struct {
		name string
		end  func(*program) error
	}{
		{"closed", func(p *program) error { return p.close(ctx) }},
		{"killed", func(p *program) error { p.kill(); return nil }},
	} {
		p, err := t.opened(ctx, "c1")
		if err != nil {
			return err
		}
		if err := way.end(p); err != nil {
			return err
		}
		if ended, err := p.endsWithin(ctx, endWithin); err != nil {
			return err
		} else if !ended {
			p.kill() // the other check's
		}
		left := p.left()
		for until := time.Now().Add(endWithin); len(left) > 0 && time.Now().Before(until); left = p.left() {
			if err := sleep(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
		if len(left) > 0 {
			return Problem{fmt.Sprintf("%s (process %d) lived on when the program had been %s", comm(left[0].PID), left[0].PID, way.name), `end what you start before you end, and have it end when its standard input does; in a shell script, "exec" the program`}
		}
	}
	return nil
}
