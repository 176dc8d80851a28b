package dynamodb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
)

func dynamodbInfo() clients.Info {
	return clients.Info{
		Name:     "dynamodb",
		About:    "DynamoDB: a conditional write with a record version number; a waiting client takes over an item that has not changed for a lease by its own clock",
		Cluster:  "dynamodb",
		Fencing:  true,
		Confirms: true, // releases and renewals are conditional on the grant's own mark
		MinTTL:   time.Millisecond,
		Inspect:  lookDynamo,
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			db, err := newDynamo("dynamodb", o)
			if err != nil {
				return nil, err
			}
			return &dynamoLock{dynamo: db}, nil
		},
	}
}

// dynamoLock is the scheme of Amazon's lock client
// (https://aws.amazon.com/blogs/database/building-distributed-locks-with-the-dynamodb-lock-client/):
// DynamoDB has no clock that a condition could ask, and those of the clients differ.
// So an item carries a random number that every write changes (the record version
// number), and how long its lease is. A client that finds it held waits, on its own
// monotonic clock and from the answer that showed it the number, for as long as that
// lease, and takes over if the number is still the same. A number that a client has
// seen was written before it saw it: no client can take over sooner than a lease after
// the holder sent its write, whatever the wall clocks say. The item outlives its
// grants, so that the counter in it, raised by the same write, is a fencing token.
type dynamoLock struct{ *dynamo }

// The conditions of the writes. No attribute is ever removed: minidyn 0.7 accepts a
// REMOVE and does nothing.
const (
	dynamoIsFree = "attribute_not_exists(held) OR held = :no"
	dynamoIsSeen = "held = :yes AND rvn = :seen"
	dynamoIsMine = "held = :yes AND holder = :holder"

	dynamoTake    = "SET held = :yes, holder = :holder, rvn = :rvn, lease_ms = :lease ADD fence :one"
	dynamoRefresh = "SET rvn = :rvn"
	dynamoFree    = "SET held = :no"
)

// seen is a record version number that a waiter has seen, and the time by its own clock until
// which it must not take over.
type seen struct {
	rvn   string
	until int64
}

func (l *dynamoLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	var before seen
	return l.acquire(ctx, key, func(ctx context.Context) (clients.Grant, error) {
		item, err := l.get(ctx, key)
		got := history.Now()
		if err != nil {
			return clients.Grant{}, err
		}
		if !dynamoHeld(item) {
			return l.take(ctx, key, dynamoIsFree, map[string]types.AttributeValue{":no": dynamoBool(false)})
		}
		rvn, lease := dynamoText(item, "rvn"), dynamoNumber(item, "lease_ms")
		if rvn != before.rvn {
			before = seen{rvn, got + lease*int64(time.Millisecond)}
		}
		if history.Now() <= before.until {
			return clients.Grant{}, errDynamoHeld
		}
		return l.take(ctx, key, dynamoIsSeen, map[string]types.AttributeValue{":seen": dynamoString(rvn)})
	})
}

// take acquires the item if the condition holds.
func (l *dynamoLock) take(ctx context.Context, key, condition string, more map[string]types.AttributeValue) (clients.Grant, error) {
	holder := rand.Text()
	more[":yes"], more[":one"] = dynamoBool(true), dynamoInt(1)
	more[":holder"], more[":rvn"] = dynamoString(holder), dynamoString(rand.Text())
	more[":lease"] = dynamoInt(l.options.TTL.Milliseconds())
	item, sent, err := l.update(ctx, key, holder, condition, dynamoTake, more)
	if err != nil {
		return clients.Grant{}, err
	}
	token := dynamoNumber(item, "fence")
	if token <= 0 {
		return clients.Grant{}, fmt.Errorf("%w: the update returned no fencing token", clients.ErrUnknown)
	}
	return clients.Grant{Key: key, Token: token, Since: sent, Lease: l.options.TTL.Truncate(time.Millisecond), Ref: holder}, nil
}

func (l *dynamoLock) Renew(ctx context.Context, g clients.Grant) (clients.Renewal, error) {
	sent, err := l.ifMine(ctx, "renew", g, dynamoRefresh, map[string]types.AttributeValue{":rvn": dynamoString(rand.Text())})
	if err != nil {
		return clients.Renewal{}, err
	}
	return clients.Renewal{Since: sent, Lease: g.Lease}, nil
}

func (l *dynamoLock) Release(ctx context.Context, g clients.Grant) error {
	_, err := l.ifMine(ctx, "release", g, dynamoFree, map[string]types.AttributeValue{":no": dynamoBool(false)})
	return err
}

// ifMine updates the item if the grant still holds it.
func (d *dynamo) ifMine(ctx context.Context, what string, g clients.Grant, change string, more map[string]types.AttributeValue) (int64, error) {
	holder := g.Ref.(string)
	more[":yes"], more[":holder"] = dynamoBool(true), dynamoString(holder)
	_, sent, err := d.update(ctx, g.Key, holder, dynamoIsMine, change, more)
	if errors.Is(err, errDynamoHeld) {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %s %s: %w", d.name, what, g.Key, err)
	}
	return sent, nil
}

func dynamoHeld(item map[string]types.AttributeValue) bool {
	b, ok := item["held"].(*types.AttributeValueMemberBOOL)
	return ok && b.Value
}

func dynamoText(item map[string]types.AttributeValue, name string) string {
	s, ok := item[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// dynamoNumber is 0 for what is not there.
func dynamoNumber(item map[string]types.AttributeValue, name string) int64 {
	n, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

func dynamoString(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func dynamoBool(b bool) types.AttributeValue     { return &types.AttributeValueMemberBOOL{Value: b} }
func dynamoInt(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
