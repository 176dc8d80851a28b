package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func lockfileInfo() clients.Info {
	return clients.Info{
		Name:    "s3-lockfile",
		About:   "S3: an object that is written with If-None-Match and deleted, as use_lockfile of OpenTofu and Terraform does: a client that crashes keeps the lock",
		Cluster: "s3",
		MinTTL:  time.Millisecond, // it has no lease, and takes it for how long an answer may take
		Options: []clients.Option{release},
		Inspect: func(ctx context.Context, o clients.Options, key string) (int, error) {
			is, err := look(ctx, o, key)
			if err != nil || is.etag == "" {
				return 0, err
			}
			return 1, nil
		},
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			how, err := adapter.Read(o, release.Name, release.Default, parseRelease)
			if err != nil {
				return nil, fmt.Errorf("s3-lockfile: %w", err)
			}
			b, err := newBucket("s3-lockfile", o)
			if err != nil {
				return nil, err
			}
			return &lockfile{b, how == "match"}, nil
		},
	}
}

var (
	parseRelease = adapter.OneOf("compare", "match")

	release = clients.Option{
		Name: "release", Default: "compare", Check: adapter.Checks(parseRelease), Safer: []string{"match"},
		About: "how a release deletes the object: compare reads it and then deletes whatever is there, as OpenTofu does; match deletes it with If-Match",
	}
)

// lockfile is the lock of OpenTofu's S3 backend with use_lockfile (https://opentofu.org/docs/language/settings/backends/s3/:
// "native S3 locking via conditional writes with If-None-Match header"). It has no lease: what a crashed client leaves, a person
// removes (force-unlock). Its release reads the object, compares the owner, and deletes without a condition
// (internal/backend/remote-state/s3/client.go).
type lockfile struct {
	*bucket
	matches bool
}

func (l *lockfile) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, func(ctx context.Context) (clients.Grant, error) {
		owner := rand.Text()
		if _, _, err := l.put(ctx, key, "", owner, []byte(owner)); err != nil {
			return clients.Grant{}, err
		}
		return clients.Grant{Key: key, Ref: owner}, nil
	})
}

func (l *lockfile) Release(ctx context.Context, g clients.Grant) error {
	is, err := l.get(ctx, g.Key)
	if errors.Is(err, errNoBucket) || err == nil && string(is.body) != g.Ref.(string) {
		err = clients.ErrNotHeld
	}
	if err == nil {
		etag := ""
		if l.matches {
			etag = is.etag
		}
		err = l.remove(ctx, g.Key, etag)
	}
	if errors.Is(err, errHeld) {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("s3-lockfile: release %s: %w", g.Key, err)
	}
	return nil
}
