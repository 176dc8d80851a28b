package packetfault

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/picklock/picklock/internal/proc"
)

// tryWithin bounds how long an attempt may take.
const tryWithin = 5 * time.Second

// try holds and delivers a message in a namespace of its own. What a machine could do once is not tried again.
func (qs *Queues) try(ctx context.Context) error {
	if qs.proved.Load() {
		return nil
	}
	err := qs.attempt(ctx)
	if err == nil {
		qs.proved.Store(true)
	}
	return err
}

func (qs *Queues) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	ns, err := proc.NewNetNS()
	if err != nil {
		return fmt.Errorf("make a network namespace: %w: %w", ErrUnsupported, err)
	}
	defer ns.Close()
	h, err := netlink.NewHandleAt(netns.NsHandle(int(ns.Fd())))
	if err != nil {
		return fmt.Errorf("reach the network namespace: %w", err)
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err == nil {
		err = h.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	var l net.Listener
	var client net.Conn
	if nerr := proc.InNetNS(ns, func() {
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0"); err == nil {
			client, err = (&net.Dialer{}).DialContext(ctx, "tcp4", l.Addr().String())
		}
	}); nerr != nil {
		return nerr
	}
	if l != nil {
		defer l.Close()
	}
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	defer server.Close()
	return qs.exchange(ctx, fmt.Sprintf("/proc/self/fd/%d", ns.Fd()), client, server)
}

// exchange holds a message and delivers it.
func (qs *Queues) exchange(ctx context.Context, path string, client, server net.Conn) error {
	to := []string{"127.0.0.1"}
	if _, err := qs.Do(ctx, path, Request{Op: Hold, To: to}); err != nil {
		return err
	}
	_, err := client.Write([]byte("x"))
	if err == nil {
		_, err = qs.Do(ctx, path, Request{Op: Await, To: to, N: 1})
	}
	if _, derr := qs.Do(ctx, path, Request{Op: Deliver, To: to}); err == nil {
		err = derr
	}
	if err != nil {
		return fmt.Errorf("hold a message: %w", err)
	}
	end, _ := ctx.Deadline()
	if err := server.SetReadDeadline(end); err != nil {
		return err
	}
	if _, err := server.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("read the delivered message: %w", err)
	}
	return nil
}
