//go:build !linux

package forward

import (
	"context"
	"errors"
	"net"
	"os"
)

// There are no namespaces here, so that every process has the network.

func packets(*os.File) (*net.UnixConn, error) { return nil, errors.ErrUnsupported }

func ask(context.Context, *net.UnixConn, string) (*net.TCPConn, error) {
	return nil, errors.ErrUnsupported
}
