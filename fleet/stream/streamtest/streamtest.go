// Package streamtest starts a real JetStream in a test's process, which ends with the test. It does
// not know what the queue carries.
package streamtest

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/fleet/stream"
)

// Serve starts a server on loopback.
func Serve(t *testing.T) *stream.Server {
	t.Helper()
	s, err := stream.Serve(stream.ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Connect connects to a server.
func Connect(t *testing.T, s *stream.Server) *stream.Queue {
	t.Helper()
	q, err := stream.Connect(t.Context(), stream.Options{Server: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// Queue starts a server and connects to it.
func Queue(t *testing.T) *stream.Queue {
	t.Helper()
	return Connect(t, Serve(t))
}

// Raw is a connection that can write anything.
func Raw(t *testing.T, s *stream.Server) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
