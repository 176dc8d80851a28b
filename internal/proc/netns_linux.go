package proc

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// InNetNS calls f on a thread inside the network namespace ns, which stays open for as
// long, and returns when f has. Only what f does itself happens there: not what other
// goroutines do that it starts. A non-nil error says that f was not called.
func InNetNS(ns *os.File, f func()) error {
	return onThread(func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		f()
		return nil
	})
}

// NewNetNS makes a network namespace that lives as long as the file is open or a
// process is in it.
func NewNetNS() (ns *os.File, err error) {
	err = onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		ns, err = ThreadNetNS()
		return err
	})
	return ns, err
}

// onThread calls f on a thread that no other goroutine ever runs on.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		// Never unlocked: the thread is left in a foreign namespace and must end
		// with this goroutine.
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// ThreadNetNS opens the network namespace of the calling thread, to which its
// goroutine has to be locked.
func ThreadNetNS() (*os.File, error) {
	return os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
}

// VisitNetNS takes the calling thread, to which its goroutine has to be locked, into
// the network namespace at path, calls f, and takes the thread back home.
func VisitNetNS(path string, home *os.File, f func() error) error {
	ns, err := os.Open(path)
	if err != nil {
		return err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	err = f()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil && err == nil {
		err = fmt.Errorf("leave network namespace: %w", back)
	}
	return err
}

// NetNSNumber is the number that tells the namespace at path from all others that
// there are at the moment.
func NetNSNumber(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return st.Ino, err
}
