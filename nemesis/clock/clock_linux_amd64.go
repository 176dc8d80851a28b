package clock

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// installTimeout bounds how long a process that keeps being in an unfit state is tried.
const installTimeout = 3 * time.Second

// busy keeps two calls for one process apart: only one thread can trace it, and only
// one writer may pick the next slot. Processes that share an entry merely wait.
var busy [64]sync.Mutex

func set(ctx context.Context, pid int, to slot) (Report, error) {
	lock := &busy[uint(pid)%uint(len(busy))]
	lock.Lock()
	defer lock.Unlock()

	var r Report
	tries, err := again(ctx, pid, func(ctx context.Context) error { return attempt(ctx, pid, to, &r) })
	if err != nil {
		return Report{}, err
	}
	r.Retries = tries
	return r, nil
}

// again calls f until it returns something else than errAgain, installTimeout at most, and
// says how often it was called again.
func again(ctx context.Context, pid int, f func(context.Context) error) (retries int, _ error) {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	for {
		err := explain(pid, f(ctx))
		if !errors.Is(err, errAgain) {
			return retries, err
		}
		retries++
		if late := pause(ctx, time.Millisecond); late != nil {
			return retries, fmt.Errorf("gave up after %d tries: %w: %w", retries, err, late)
		}
	}
}

// attempt sets the clock of pid if it has the hook, and tries once to install it if
// it has not.
func attempt(ctx context.Context, pid int, to slot, r *Report) error {
	p, err := openProcess(pid)
	if err != nil {
		return err
	}
	defer p.close()
	data, err := p.v.hookData()
	if err != nil {
		return err
	}
	if data == 0 && to == (slot{}) {
		return nil // nothing to heal
	}
	if data == 0 {
		prog, err := build(p.v, to)
		if err != nil {
			return err
		}
		return onTracer(func() error { return p.install(ctx, prog, r) })
	}
	err = p.flip(data, to)
	if errors.Is(err, unix.EIO) {
		// A kernel with proc_mem.force_override=ptrace lets only a tracer write.
		err = onTracer(func() error {
			s, err := stop(ctx, pid)
			defer s.release()
			if err != nil {
				return err
			}
			return p.flip(data, to)
		})
	}
	return err
}

func read(pid int) (slot, error) {
	var s slot
	_, err := again(context.Background(), pid, func(context.Context) error {
		p, err := openProcess(pid)
		if err != nil {
			return err
		}
		defer p.close()
		data, err := p.v.hookData()
		if err != nil || data == 0 {
			return err
		}
		block, err := p.block(data)
		if err != nil {
			return err
		}
		s = decodeSlot(block[slotsAt+slotLen*int(block[0]%slots):])
		return nil
	})
	return s, err
}

// block reads the hook's data block.
func (p *process) block(data uint64) ([]byte, error) {
	b := make([]byte, dataLen)
	if _, err := p.mem.ReadAt(b, int64(data)); err != nil {
		return nil, fmt.Errorf("read the hook's data: %w", err)
	}
	return b, nil
}

// flip writes the next slot and then makes it the one in use.
func (p *process) flip(data uint64, to slot) error {
	b, err := p.block(data)
	if err != nil {
		return err
	}
	next := b[0] + 1
	if _, err := p.mem.WriteAt(to.encode(), int64(data)+slotsAt+slotLen*int64(next%slots)); err != nil {
		return fmt.Errorf("write the setting: %w", err)
	}
	if _, err := p.mem.WriteAt([]byte{next}, int64(data)); err != nil {
		return fmt.Errorf("switch to the new setting: %w", err)
	}
	return nil
}

// install stops the process and writes prog into it.
func (p *process) install(ctx context.Context, prog *program, r *Report) error {
	s, err := stop(ctx, p.pid)
	defer func() {
		held := s.release()
		if r.Installed {
			r.Stopped = held
		}
	}()
	if err != nil {
		return err
	}
	// The memory seen so far may be that of the program before an exec.
	mem, err := openMem(p.pid)
	if err != nil {
		return err
	}
	defer mem.Close()
	now := make([]byte, len(p.v.bytes))
	if _, err := mem.ReadAt(now, int64(p.v.base)); err != nil || !bytes.Equal(now, p.v.bytes) {
		return fmt.Errorf("%w: it is starting another program", errAgain)
	}
	moves, err := s.plan(mem, prog)
	if err != nil {
		return err
	}

	// Each step leaves the process sound if we are killed before the next one: unused
	// bytes; threads on copies of their instructions; one whole jump after the other.
	if _, err := mem.WriteAt(prog.bytes, int64(prog.region)); errors.Is(err, unix.EIO) {
		return fmt.Errorf("%w: this kernel forbids writing into another process's code (boot it without proc_mem.force_override=never)", ErrUnsupported)
	} else if err != nil {
		return fmt.Errorf("write into its vDSO: %w", err)
	}
	for _, m := range moves {
		if err := unix.PtraceSetRegs(m.tid, &m.regs); err != nil {
			return fmt.Errorf("move thread %d: %w", m.tid, err)
		}
	}
	for _, site := range prog.sites {
		if _, err := mem.WriteAt(site.jump[:], int64(site.entry)); err != nil {
			return fmt.Errorf("write into its vDSO: %w", err)
		}
	}
	r.Installed = true
	r.Threads, r.Moved = 0, len(moves)
	for _, t := range s.threads {
		if t.state != gone {
			r.Threads++
		}
	}
	return nil
}

// move is a thread's new registers.
type move struct {
	tid  int
	regs unix.PtraceRegs
}

// plan finds the threads that stand inside the bytes to be replaced and where they go
// on. It returns errAgain where a thread cannot be helped but will have left soon.
func (s *stopped) plan(mem interface {
	ReadAt([]byte, int64) (int, error)
}, prog *program) ([]move, error) {
	var moves []move
	stack := make([]byte, stackScan)
	for _, t := range s.threads {
		var pc, sp uint64
		switch t.state {
		case halted:
			var regs unix.PtraceRegs
			if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
				return nil, fmt.Errorf("%w: thread %d: %w", errAgain, t.tid, err) // killed in its stop
			}
			pc, sp = regs.Rip, regs.Rsp
			if prog.inside(pc) {
				to, err := prog.moved(pc)
				if err != nil {
					return nil, err
				}
				regs.Rip = to
				moves = append(moves, move{t.tid, regs})
			}
		case parked:
			pc, sp = t.at.pc, t.at.sp
			if prog.inside(pc) {
				return nil, fmt.Errorf("%w: thread %d sleeps inside a clock function", errAgain, t.tid)
			}
		default:
			continue
		}
		n, _ := mem.ReadAt(stack, int64(sp&^7)) // short at the stack's end
		if returnsInto(stack[:n], prog) {
			return nil, fmt.Errorf("%w: thread %d handles a signal that interrupted a clock function's entry", errAgain, t.tid)
		}
	}
	return moves, nil
}

// stackScan is how much of each stack is searched for signal frames: a frame lies below
// everything its handler has on the stack, and handlers are shallow.
const stackScan = 32 << 10

// returnsInto tells whether the stack holds a signal frame that returns into a site.
// In the kernel's frame the saved flags follow the instruction pointer, and then the
// segment selectors, of which user code's cs is always 0x33; stray words that merely
// look like such an address do not count.
func returnsInto(stack []byte, prog *program) bool {
	for i := 0; i+24 <= len(stack); i += 8 {
		if prog.inside(binary.LittleEndian.Uint64(stack[i:])) &&
			binary.LittleEndian.Uint16(stack[i+16:]) == 0x33 {
			return true
		}
	}
	return false
}
