package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// lookRedis counts the key itself, with plain commands on a connection of its own: a stopped
// server must cost one request, not a client library's state.
func lookRedis(ctx context.Context, o clients.Options, key string) (int, error) {
	reply, err := redisWord(ctx, o, "EXISTS", key)
	if err != nil {
		return 0, err
	}
	if reply == ":1" {
		return 1, nil
	}
	return 0, nil
}

// redisWord sends one command to the first server and returns the first line of its reply.
func redisWord(ctx context.Context, o clients.Options, words ...string) (string, error) {
	server := o.Servers[0]
	line, err := func() (string, error) {
		username, password, err := o.Login()
		if err != nil {
			return "", err
		}
		conn, err := o.Dial(ctx, "tcp", server, adapter.InspectWithin)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(adapter.InspectWithin))
		stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
		defer stop()
		c := redisConn{conn, bufio.NewReader(conn)}
		if password != "" {
			login := []string{"AUTH", password}
			if username != "" {
				login = []string{"AUTH", username, password}
			}
			if said, err := c.word(login); err != nil || said != "+OK" {
				return "", errors.Join(fmt.Errorf("it does not take the password: %s", said), err)
			}
		}
		return c.word(words)
	}()
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", server, err)
	}
	return line, nil
}

// redisConn is a connection to a Redis on which one command is sent after the other.
type redisConn struct {
	to   io.Writer
	from *bufio.Reader
}

// word sends a command and returns the first line of its reply.
func (c redisConn) word(words []string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := io.WriteString(c.to, b.String()); err != nil {
		return "", err
	}
	line, err := c.from.ReadString('\n')
	return strings.TrimSpace(line), err
}
