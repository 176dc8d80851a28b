package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// sentinelRole is what a sentinel answers to ROLE.
const sentinelRole = "sentinel"

// logins are the logins to try on an external server. A sentinel has users of its own: it may have
// the password for its default user only, or no authentication.
func logins(o clients.Options) []clients.Options {
	out := []clients.Options{o}
	if o.External == nil {
		return out
	}
	e := *o.External
	for _, less := range []func(){func() { e.Username = "" }, func() { e.PasswordEnv, e.PasswordFile = "", "" }} {
		less()
		as := e
		o.External = &as
		out = append(out, o)
	}
	return out
}

// role asks a server for its role, and returns the options with which it accepted the login: with
// less than those asked for only from a sentinel.
func role(ctx context.Context, o clients.Options, addr string, patience time.Duration) (name string, as clients.Options, err error) {
	for i, as := range logins(o) {
		name, rerr := roleAs(ctx, as, addr, patience)
		switch {
		case rerr == nil && (i == 0 || name == sentinelRole):
			return name, as, nil
		case i == 0:
			err = rerr
		}
		var said redis.Error
		if rerr != nil && !errors.As(rerr, &said) {
			break // it is not there
		}
	}
	return "", o, err
}

func roleAs(ctx context.Context, o clients.Options, addr string, patience time.Duration) (string, error) {
	c := newRedis(o, addr, patience, new(adapter.Tap))
	words, err := c.Do(ctx, "ROLE").Slice()
	if err = errors.Join(err, c.Close()); err != nil || len(words) == 0 {
		return "", err
	}
	name, _ := words[0].(string)
	return name, nil
}
