package redis

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/picklock/picklock/clients/internal/wire"
)

// lookRedis counts the key itself, in plain words on a connection of its own: a
// stopped server must cost one look, not a client library's state.
func lookRedis(ctx context.Context, server, key string) (int, error) {
	reply, err := redisWord(ctx, server, "EXISTS", key)
	if err != nil {
		return 0, err
	}
	if reply == ":1" {
		return 1, nil
	}
	return 0, nil
}

// redisWord sends one command and returns the first line of its reply.
func redisWord(ctx context.Context, server string, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, wire.InspectWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", server)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", server, err)
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	conn.SetDeadline(end)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := conn.Write([]byte(b.String())); err != nil {
		return "", fmt.Errorf("look at %s: %w", server, err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", server, err)
	}
	return strings.TrimSpace(line), nil
}
