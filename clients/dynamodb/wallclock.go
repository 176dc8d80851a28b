package dynamodb

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

func dynamodbWallclockInfo() clients.Info {
	return clients.Info{
		Name:     "dynamodb-wallclock",
		About:    "DynamoDB: a conditional write with expires_at, compared with the wall clock of the client that acquires",
		Cluster:  "dynamodb",
		Fencing:  true,
		Confirms: true, // releases and renewals are conditional on the grant's own mark
		MinTTL:   time.Millisecond,
		Naive:    true,
		Inspect:  lookDynamo,
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			db, err := newDynamo("dynamodb-wallclock", o)
			if err != nil {
				return nil, err
			}
			return &dynamoWallclock{db}, nil
		},
	}
}

// dynamoWallclock is the recipe of many articles: the holder writes down by its own
// clock when its lease ends, and others compare that with theirs. What it promises
// holds as long as all of those clocks agree: the lease counts from right before the
// holder looked at its clock.
type dynamoWallclock struct{ *dynamo }

const (
	dynamoIsOver = dynamoIsFree + " OR expires_at < :now"

	dynamoTakeUntil    = "SET held = :yes, holder = :holder, expires_at = :until ADD fence :one"
	dynamoRefreshUntil = "SET expires_at = :until"
)

// until is when a lease that begins now ends, by the wall clock in ms.
func (l *dynamoWallclock) until() (since, now int64, until types.AttributeValue) {
	since = history.Now()
	now = time.Now().UnixMilli()
	return since, now, dynamoInt(now + l.options.TTL.Milliseconds())
}

// lease is what rounding leaves of the TTL.
func (l *dynamoWallclock) lease() time.Duration {
	return max(0, l.options.TTL.Truncate(time.Millisecond)-time.Millisecond)
}

func (l *dynamoWallclock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, key, func(ctx context.Context) (clients.Grant, error) {
		holder := rand.Text()
		since, now, until := l.until()
		item, _, err := l.update(ctx, key, holder, dynamoIsOver, dynamoTakeUntil, map[string]types.AttributeValue{
			":no": dynamoBool(false), ":yes": dynamoBool(true), ":one": dynamoInt(1),
			":holder": dynamoString(holder), ":now": dynamoInt(now), ":until": until,
		})
		if err != nil {
			return clients.Grant{}, err
		}
		token := dynamoNumber(item, "fence")
		if token <= 0 {
			return clients.Grant{}, fmt.Errorf("%w: the update returned no fencing token", clients.ErrUnknown)
		}
		return clients.Grant{Key: key, Token: token, Since: since, Lease: l.lease(), Ref: holder}, nil
	})
}

func (l *dynamoWallclock) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	since, _, until := l.until()
	if _, err := l.ifMine(ctx, "renew", g, dynamoRefreshUntil, map[string]types.AttributeValue{":until": until}); err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: since, Lease: l.lease()}, nil
}

func (l *dynamoWallclock) Release(ctx context.Context, g clients.Grant) error {
	_, err := l.ifMine(ctx, "release", g, dynamoFree, map[string]types.AttributeValue{":no": dynamoBool(false)})
	return err
}
