package local

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
)

// loopback gives addresses to nodes that share this machine's network.
type loopback struct {
	net  string // "127.33.12." on Linux, where all of 127/8 is this machine
	last int
}

func newLoopback() loopback {
	if runtime.GOOS != "linux" {
		return loopback{}
	}
	// Two runs side by side must not meet: each takes a network at random.
	return loopback{net: fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), 1+rand.IntN(254))}
}

func (l *loopback) add(ports []int) (string, []int, error) {
	if l.net != "" {
		l.last++
		return fmt.Sprintf("%s%d", l.net, l.last), ports, nil
	}
	free := make([]int, len(ports))
	for i := range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", nil, fmt.Errorf("find a free port: %w", err)
		}
		defer ln.Close()
		free[i] = ln.Addr().(*net.TCPAddr).Port
	}
	return "127.0.0.1", free, nil
}
