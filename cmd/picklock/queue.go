package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/fleet/stream"
)

// tokenVariable holds the queue's token. It is not a flag, because all users of a machine can read
// command lines.
const tokenVariable = "PICKLOCK_QUEUE_TOKEN" //nolint:gosec // a name, not a secret

// tokenFileVariable names a file with the token, as Swarm and Kubernetes provide secrets.
const tokenFileVariable = "PICKLOCK_QUEUE_TOKEN_FILE" //nolint:gosec // a name, not a secret

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
		return "", fmt.Errorf("%s is empty: %s must name a file with the queue's token", file, tokenFileVariable)
	}
	return token, nil
}

// queueFlags name a queue.
type queueFlags struct {
	url, ca, certificate, key string
	wait                      time.Duration
}

func (f *queueFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.url, "queue", "", "use this queue: nats://HOST:PORT, or tls://HOST:PORT; its token is read from "+tokenVariable+", or from the file that "+tokenFileVariable+" names")
	fl.StringVar(&f.ca, "queue-ca", "", "trust the authority in this file, which signed the queue's certificate")
	fl.StringVar(&f.certificate, "queue-cert", "", "send the certificate in this file, if the queue asks for one")
	fl.StringVar(&f.key, "queue-key", "", "read its key from this file")
	fl.DurationVar(&f.wait, "wait", 2*time.Minute, "wait this long for a queue that does not exist yet, or for items and a lost queue while a worker drains it; 0: not at all")
}

func (f *queueFlags) check() error {
	if (f.certificate == "") != (f.key == "") {
		return errors.New("--queue-cert and --queue-key need each other: give both")
	}
	if f.url != "" {
		if err := queueAddress(f.url); err != nil {
			return err
		}
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

// queueAddress says what of a queue's addresses can be none.
func queueAddress(list string) error {
	for one := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			if err == nil {
				one = u.Redacted() // it may hold a password
			} else {
				one = "the address"
			}
			return fmt.Errorf("--queue: %s is no queue's: want nats://HOST:PORT or tls://HOST:PORT", one)
		}
	}
	return nil
}

// connect reaches the queue for what needs the rights of a role; server is one in this process, or nil.
func (f *queueFlags) connect(ctx context.Context, name string, role stream.Role, server *stream.Server) (*stream.Queue, error) {
	token, err := queueToken()
	if err != nil {
		return nil, usage(err)
	}
	if has := stream.RoleOf(token); !has.May(role) {
		return nil, usage(fmt.Errorf("the token in %s is that of a %s, and this needs that of a %s (picklock fleet token --help)", tokenVariable, has, role))
	}
	o := stream.Options{URL: f.url, Server: server, Token: token, Name: name, Wait: f.wait, Say: func(text string) { fmt.Fprintf(os.Stderr, "picklock: %s\n", text) }}
	if server == nil {
		o.CA, o.Certificate, o.Key = f.ca, f.certificate, f.key
	}
	return stream.Connect(ctx, o)
}

// hideToken keeps the token from the processes that this one starts: servers, clients, and programs
// of users.
func hideToken() error {
	return errors.Join(os.Unsetenv(tokenVariable), os.Unsetenv(tokenFileVariable))
}
