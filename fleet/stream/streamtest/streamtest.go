// Package streamtest gives tests a queue: a real JetStream in their own process, which ends
// with them. It knows nothing of what goes over it.
package streamtest

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/fleet/stream"
)

// Serve is a server that others reach on loopback, too.
func Serve(t *testing.T) *stream.Server {
	t.Helper()
	s, err := stream.Serve(stream.ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Connect is a connection to it.
func Connect(t *testing.T, s *stream.Server) *stream.Queue {
	t.Helper()
	q, err := stream.Connect(t.Context(), stream.Options{Server: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// Queue is a server's own queue.
func Queue(t *testing.T) *stream.Queue {
	t.Helper()
	return Connect(t, Serve(t))
}

// Raw is a connection that writes whatever it likes.
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
