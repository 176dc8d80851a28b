package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/fleet/stream"
)

// tokenVariable holds the queue's token. It is in no flag: a command line can be read by all
// on a machine.
const tokenVariable = "PICKLOCK_QUEUE_TOKEN" //nolint:gosec // where it is, not what it is

// tokenFileVariable names a file that holds it, which is how a Swarm and Kubernetes hand
// secrets out.
const tokenFileVariable = "PICKLOCK_QUEUE_TOKEN_FILE" //nolint:gosec // where it is, not what it is

// queueToken is the queue's token, "" if there is none.
func queueToken() (string, error) {
	token, file := os.Getenv(tokenVariable), os.Getenv(tokenFileVariable)
	if file == "" {
		return token, nil
	}
	if token != "" {
		return "", fmt.Errorf("%s and %s are both set: unset one of them", tokenVariable, tokenFileVariable)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the queue's token, which %s names: %w", tokenFileVariable, err)
	}
	if token = strings.TrimSpace(string(text)); token == "" {
		return "", fmt.Errorf("%s is empty: %s is to name a file that holds the queue's token", file, tokenFileVariable)
	}
	return token, nil
}

// queueFlags say which queue is meant.
type queueFlags struct {
	url, ca, certificate, key string
	wait                      time.Duration
}

func (f *queueFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.url, "queue", "", "the queue: nats://HOST:PORT, or tls://HOST:PORT; its token is taken from "+tokenVariable+", or from the file that "+tokenFileVariable+" names")
	fl.StringVar(&f.ca, "queue-ca", "", "file of the authority that signed the queue's certificate")
	fl.StringVar(&f.certificate, "queue-cert", "", "file of the own certificate, where the queue asks for one")
	fl.StringVar(&f.key, "queue-key", "", "file of its key")
	fl.DurationVar(&f.wait, "wait", 2*time.Minute, "how long a queue that is not there yet is waited for; 0: not at all")
}

func (f *queueFlags) check() error {
	if (f.certificate == "") != (f.key == "") {
		return errors.New("--queue-cert and --queue-key belong together")
	}
	if f.wait < 0 {
		return fmt.Errorf("--wait %v: want 0 or more", f.wait)
	}
	for _, file := range []string{f.ca, f.certificate, f.key} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("the queue's certificates: %w", err)
		}
	}
	return nil
}

// connect reaches the queue; server is one in this process, or nil.
func (f *queueFlags) connect(ctx context.Context, name string, server *stream.Server) (*stream.Queue, error) {
	token, err := queueToken()
	if err != nil {
		return nil, usage(err)
	}
	o := stream.Options{URL: f.url, Server: server, Token: token, Name: name, Wait: f.wait, Say: func(text string) { fmt.Fprintf(os.Stderr, "picklock: %s\n", text) }}
	if server == nil {
		o.CA, o.Certificate, o.Key = f.ca, f.certificate, f.key
	}
	return stream.Connect(ctx, o)
}

// hideToken keeps the token from all that this process starts: servers, clients, programs of
// a user's own.
func hideToken() error {
	return errors.Join(os.Unsetenv(tokenVariable), os.Unsetenv(tokenFileVariable))
}
