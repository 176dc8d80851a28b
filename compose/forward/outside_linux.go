package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A process that has a network dials for those that have none, over one socket that all of
// them share: a request is an address and a socket for the answer, the answer is the
// connection, or what went wrong. A connection stays in the network in which it was made,
// whatever process has it.

// ok is the answer's text where a connection comes with it.
const ok = "ok"

// mostText bounds the text of one message.
const mostText = 4 << 10

// Pair makes the socket: inside is for those that ask, outside for Outside.
func Pair() (inside, outside *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "inside"), os.NewFile(uintptr(fds[1]), "outside"), nil
}

// packets is the file of a socket of Pair, which it closes, as a connection.
func packets(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, isUnix := c.(*net.UnixConn)
	if !isUnix {
		return nil, errors.Join(fmt.Errorf("%s is not the outside socket", f.Name()), c.Close())
	}
	return u, nil
}

// Outside dials whatever it is asked to until all other ends are closed. It closes f.
func Outside(f *os.File) error {
	conn, err := packets(f)
	if err != nil {
		return fmt.Errorf("dial for the run: %w", err)
	}
	defer conn.Close()
	for {
		addr, reply, err := receive(conn)
		if errors.Is(err, io.EOF) { // all others have closed it
			return nil
		}
		if err != nil {
			return fmt.Errorf("dial for the run: %w", err)
		}
		if reply == nil {
			continue // there is no socket to answer on
		}
		go answer(addr, reply)
	}
}

func answer(addr string, f *os.File) {
	reply, err := packets(f)
	if err != nil {
		return
	}
	defer reply.Close()
	conn, err := Direct(context.Background(), addr)
	if err != nil {
		_ = send(reply, err.Error(), nil) // if it fails, the one that asked is gone
		return
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _ = send(reply, ok, []int{int(fd)}) })
}

// ask has an address dialled by the process at the other end of via.
func ask(ctx context.Context, via *net.UnixConn, addr string) (*net.TCPConn, error) {
	mine, its, err := Pair()
	if err != nil {
		return nil, err
	}
	err = send(via, addr, []int{int(its.Fd())})
	its.Close()
	if err != nil {
		mine.Close()
		return nil, fmt.Errorf("ask for a connection to %s: %w", addr, err)
	}
	reply, err := packets(mine)
	if err != nil {
		return nil, err
	}
	defer reply.Close()
	stop := context.AfterFunc(ctx, func() { _ = reply.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	text, f, err := receive(reply)
	if err != nil {
		return nil, fmt.Errorf("wait for a connection to %s: %w", addr, err)
	}
	if f == nil {
		return nil, errors.New(text)
	}
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

func send(to *net.UnixConn, text string, fds []int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err := to.WriteMsgUnix([]byte(text), rights, nil)
	return err
}

// receive returns the next message and the file that came with it, nil for none.
func receive(from *net.UnixConn) (text string, f *os.File, err error) {
	buf, rights := make([]byte, mostText), make([]byte, unix.CmsgSpace(4))
	n, nr, _, _, err := from.ReadMsgUnix(buf, rights)
	if err != nil {
		return "", nil, err
	}
	if nr == 0 {
		return string(buf[:n]), nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(rights[:nr])
	if err != nil {
		return "", nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return "", nil, err
		}
		for _, fd := range fds {
			f = os.NewFile(uintptr(fd), "passed")
		}
	}
	return string(buf[:n]), f, nil
}
