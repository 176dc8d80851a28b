// Command target is a process whose clock the tests shift. It calls the vDSO's
// functions directly, next to the raw system calls that tell the true time, and
// answers commands on stdin, one line each, with one line.
package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// call calls a C function with two arguments.
func call(fn, a, b uintptr) uintptr

// vfork starts a child that shares this process's memory and sleeps; it returns, its
// thread in uninterruptible sleep meanwhile, when the child has ended.
func vfork(sleep *syscall.Timespec)

var funcs = map[string]uintptr{}

func fatal(a ...any) {
	fmt.Fprintln(os.Stderr, a...)
	os.Exit(3)
}

func findFuncs() {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		fatal(err)
	}
	for _, line := range strings.Split(string(maps), "\n") {
		if !strings.HasSuffix(line, "[vdso]") {
			continue
		}
		var lo, hi uintptr
		fmt.Sscanf(line, "%x-%x", &lo, &hi)
		mem, err := os.Open("/proc/self/mem")
		if err != nil {
			fatal(err)
		}
		b := make([]byte, hi-lo)
		mem.ReadAt(b, int64(lo))
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			fatal(err)
		}
		syms, err := f.DynamicSymbols()
		if err != nil {
			fatal(err)
		}
		for _, s := range syms {
			funcs[s.Name] = lo + uintptr(s.Value)
		}
	}
}

// pair is a timespec or timeval.
type pair struct{ sec, frac int64 }

var pairs []*pair

// newPair makes one that is not on a stack, which may move during the call.
func newPair() *pair {
	p := new(pair)
	mu.Lock()
	defer mu.Unlock()
	pairs = append(pairs[:len(pairs):len(pairs)], p)
	return p
}

var mu sync.Mutex

func vdso(name string, a uintptr, p *pair) int64 {
	rc := call(funcs[name], a, uintptr(unsafe.Pointer(p)))
	if int32(rc) != 0 || p.frac < 0 || p.frac >= 1e9 {
		fatal(name, "returned", int32(rc), *p)
	}
	return p.sec*1e9 + p.frac
}

func gettimeofday(p *pair, zone uintptr) int64 {
	rc := call(funcs["__vdso_gettimeofday"], uintptr(unsafe.Pointer(p)), zone)
	if int32(rc) != 0 || p.frac < 0 || p.frac >= 1e6 {
		fatal("gettimeofday returned", int32(rc), *p)
	}
	return p.sec*1e9 + p.frac*1e3
}

func timeOf(p *pair) int64 {
	s := int64(call(funcs["__vdso_time"], uintptr(unsafe.Pointer(&p.sec)), 0))
	if s != p.sec {
		fatal("time returned", s, "and stored", p.sec)
	}
	return s * 1e9
}

// sysClock reads a clock by system call.
func sysClock(id uintptr) int64 {
	var ts syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		fatal("clock_gettime", id, e)
	}
	return ts.Nano()
}

// reading is a value from the vDSO between two true ones.
type reading struct{ Before, Value, After int64 }

func read(trueID uintptr, f func() int64) reading {
	return reading{sysClock(trueID), f(), sysClock(trueID)}
}

func clocks() map[string]reading {
	p := newPair()
	missing(p, -5) // a device that is not open
	missing(p, 12) // no clock has this number
	*p = pair{-1, -1}
	if rc := int32(call(funcs["__vdso_gettimeofday"], 0, uintptr(unsafe.Pointer(p)))); rc != 0 || p.sec == -1 {
		fatal("gettimeofday for the time zone alone returned", rc, *p)
	}
	out := map[string]reading{
		"time.Now":     read(0, func() int64 { return time.Now().UnixNano() }),
		"gettimeofday": read(0, func() int64 { return gettimeofday(p, 0) }),
		"gettimeofday and zone": read(0, func() int64 {
			zone := newPair()
			*zone = pair{-1, -1}
			t := gettimeofday(p, uintptr(unsafe.Pointer(zone)))
			if zone.sec == -1 {
				fatal("gettimeofday left the time zone out")
			}
			return t
		}),
		"time": read(5, func() int64 { return timeOf(p) }),
	}
	for name, id := range map[string]uintptr{"REALTIME": 0, "MONOTONIC": 1, "PROCESS_CPUTIME": 2, "MONOTONIC_RAW": 4,
		"REALTIME_COARSE": 5, "MONOTONIC_COARSE": 6, "BOOTTIME": 7, "REALTIME_ALARM": 8, "BOOTTIME_ALARM": 9, "TAI": 11} {
		if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(p)), 0); e != 0 {
			missing(p, int32(id)) // the alarm clocks need a real-time clock
			continue
		}
		out[name] = read(id, func() int64 { return vdso("__vdso_clock_gettime", id, p) })
	}
	// The CPU clock of another process, whose negative number ends in the bits of
	// CLOCK_REALTIME or its ALARM.
	for pid := 2; pid < 100; pid++ {
		id := uintptr(uint32(^pid << 3))
		if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(p)), 0); e == 0 && pid%4 >= 2 {
			out["CPU of a process"] = read(id, func() int64 { return vdso("__vdso_clock_gettime", id, p) })
			break
		}
	}
	return out
}

// missing checks that a clock that is not there fails as ever.
func missing(p *pair, id int32) {
	*p = pair{7, 7}
	rc := int32(call(funcs["__vdso_clock_gettime"], uintptr(uint32(id)), uintptr(unsafe.Pointer(p))))
	if rc != -int32(syscall.EINVAL) || *p != (pair{7, 7}) {
		fatal("clock", id, "returned", rc, *p)
	}
}

// spin calls every hooked function, or one, as fast as it can and checks what never
// may break: results are sound and the monotonic clock does not run backwards.
func spin(only string, started chan<- int) {
	runtime.LockOSThread()
	started <- syscall.Gettid()
	p := newPair()
	var last int64
	for {
		if only == "" || only == "__vdso_clock_gettime" {
			vdso("__vdso_clock_gettime", 0, p)
			m := vdso("__vdso_clock_gettime", 1, p)
			if m < last {
				fatal("monotonic clock ran back", last-m)
			}
			last = m
		}
		if only == "" || only == "__vdso_gettimeofday" {
			gettimeofday(p, 0)
		}
		if only == "" || only == "__vdso_time" {
			timeOf(p)
		}
	}
}

func main() {
	findFuncs()
	started := make(chan int)
	if len(os.Args) > 1 && os.Args[1] == "busy" {
		for range 4 {
			go spin("", started)
			<-started
			go func() {
				for t := time.Now(); ; t = time.Now() {
					if time.Since(t) < 0 {
						fatal("time.Since is negative")
					}
				}
			}()
		}
	}
	in := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	for in.Scan() {
		cmd, arg, _ := strings.Cut(in.Text(), " ")
		switch cmd {
		case "clocks":
			b, _ := json.Marshal(clocks())
			fmt.Println(string(b))
		case "spin":
			go spin(arg, started)
			fmt.Println(<-started)
		case "cost":
			p := newPair()
			const n = 200_000
			t := sysClock(1)
			for range n {
				vdso("__vdso_clock_gettime", 0, p)
			}
			fmt.Println(float64(sysClock(1)-t) / n)
		case "vfork":
			ts := &syscall.Timespec{Sec: 1}
			go func() {
				runtime.LockOSThread()
				started <- syscall.Gettid()
				vfork(ts)
				fmt.Println("vfork done")
			}()
			fmt.Println(<-started)
		case "notify":
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGUSR1)
			go func() {
				fmt.Println("got", <-c)
			}()
			fmt.Println("ok")
		case "exec":
			fatal(syscall.Exec("/proc/self/exe", os.Args, nil))
		}
	}
}
