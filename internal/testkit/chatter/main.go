// Chatter sends datagrams and greetings to its peers from its first moment on, and counts
// those that come, for the test of what gets through while a container starts.
//
//	chatter PEER...
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const port = ":7000"

var (
	mu   sync.Mutex
	came = map[string]int{} // "udp ADDRESS": how many
)

func count(kind string, from net.Addr) {
	host, _, _ := net.SplitHostPort(from.String())
	mu.Lock()
	defer mu.Unlock()
	came[kind+" "+host]++
}

func main() {
	hear, err := net.ListenPacket("udp4", port)
	check(err)
	listen, err := net.Listen("tcp4", port) //nolint:gosec // it is in a network of its own
	check(err)
	for _, peer := range os.Args[1:] {
		go datagrams(peer)
		go greetings(peer)
	}
	go func() {
		var b [64]byte
		for {
			_, from, err := hear.ReadFrom(b[:])
			check(err)
			count("udp", from)
		}
	}()
	for {
		c, err := listen.Accept()
		check(err)
		go answer(c)
	}
}

// datagrams go into the void where the peer is not to be reached.
func datagrams(peer string) {
	to, err := net.ResolveUDPAddr("udp4", peer+port)
	check(err)
	c, err := net.ListenPacket("udp4", ":0")
	check(err)
	for ; ; time.Sleep(time.Millisecond) {
		_, _ = c.WriteTo([]byte("hello"), to)
	}
}

func greetings(peer string) {
	for ; ; time.Sleep(5 * time.Millisecond) {
		c, err := net.DialTimeout("tcp4", peer+port, 50*time.Millisecond) //nolint:gosec // named on the command line
		if err != nil {
			continue
		}
		fmt.Fprintln(c, "hello")
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, _ = bufio.NewReader(c).ReadString('\n')
		c.Close()
	}
}

// answer counts a greeting, and tells a client that asks what has come.
func answer(c net.Conn) {
	defer c.Close()
	switch line, _ := bufio.NewReader(c).ReadString('\n'); line {
	case "hello\n":
		count("tcp", c.RemoteAddr())
		fmt.Fprintln(c, "hello")
	case "count\n":
		mu.Lock()
		var all []string
		for what, n := range came {
			all = append(all, fmt.Sprintf("%s %d", what, n))
		}
		mu.Unlock()
		slices.Sort(all)
		fmt.Fprintf(c, "came: %s;\n", strings.Join(all, ", "))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
