package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
)

// Ports that FreePort gives. They lie below those that the kernel gives to connections, so that no
// connection takes one before its server listens.
const (
	firstPort = 12000
	ports     = 18000
)

// nextPort begins anywhere, so that processes side by side seldom try the same ports.
var nextPort = func() *atomic.Uint32 {
	var n atomic.Uint32
	n.Store(rand.Uint32N(ports))
	return &n
}()

// FreePort is a port of the loopback that is free. Until the test ends no other test on this machine
// gets it, in whatever process: a server often listens only long after.
func FreePort(t testing.TB) string {
	t.Helper()
	for range ports {
		port := fmt.Sprint(firstPort + nextPort.Add(1)%ports)
		reserved, err := reservePort(port)
		if err != nil {
			continue
		}
		ln, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			reserved()
			continue
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(reserved)
		return port
	}
	t.Fatal("no port of the loopback is free")
	return ""
}

// reservePort holds a port's name as an abstract socket, which belongs to one process of the machine
// and ends with it. There are none on other systems.
func reservePort(port string) (release func(), err error) {
	if runtime.GOOS != "linux" {
		return func() {}, nil
	}
	ln, err := net.Listen("unix", "@picklock-test-port-"+port)
	if err != nil {
		return nil, err
	}
	return func() { ln.Close() }, nil
}
