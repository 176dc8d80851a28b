//go:build library

// dynamolock (https://github.com/cirello-io/dynamolock), a lock on Amazon's DynamoDB whose holder sends
// heartbeats.
//
// Its documentation (https://pkg.go.dev/cirello.io/dynamolock/v2) promises: a client takes a lock over
// only if its record has not changed for a lease; with the session monitor, "notification that your lock
// is about to expire before it is actually expired". That callback is the loss here.
//
// The SDK has its defaults: it gives no answer up, and sends a request three times. A lease has six heartbeats, and the
// monitor the time that the documentation calls a good rule of thumb: the lease less three heartbeats.
package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cirello.io/dynamolock/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/picklock/picklock/clients/go/adapter"
)

const (
	table = "dynamolock"
	beats = 6 // heartbeats a lease
)

type lock struct {
	program *adapter.Program
	ttl     time.Duration
	db      *watched
	client  *dynamolock.Client

	mu   sync.Mutex
	held map[string]*grant
}

type grant struct {
	item  *dynamolock.Lock
	lost  bool           // the monitor has called
	lease *adapter.Lease // the newest, while the acquire has not returned
}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	l.ttl, l.held = o.TTL, map[string]*grant{}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	w := &wire{next: transport}
	l.db = &watched{lock: l, wire: w, Client: dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + o.Servers[0]), HTTPClient: &http.Client{Transport: w},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "picklock", SecretAccessKey: "picklock"}, nil // the emulator checks none
		}),
	})}
	if err := l.renew(); err != nil {
		return nil, err
	}
	// The session monitor is called when the lock enters its danger zone, before the lease is over
	// (https://pkg.go.dev/cirello.io/dynamolock/v2#WithSessionMonitor).
	return adapter.Loaded(adapter.Abilities{"lease": true, "watchdog": true, "several": true, "notifies": true, "confirms": true}, "cirello.io/dynamolock/v2"), nil
}

// renew opens a client of the library. What the one before it still waits for cannot touch its locks.
func (l *lock) renew() error {
	if old := l.client; old != nil {
		go func() { _ = old.Close() }() // it may wait for an answer without a limit
	}
	c, err := dynamolock.New(l.db, table, dynamolock.WithLeaseDuration(l.ttl), dynamolock.WithHeartbeatPeriod(l.ttl/beats))
	l.client = c
	return err
}

// Acquire tries until the wait ends: the library gives up at the first error of its service.
func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	l.db.wire.doubt.Store(false)
	for {
		g := &grant{}
		l.mu.Lock()
		l.held[key] = g
		l.mu.Unlock()
		item, err := l.client.AcquireLockWithContext(ctx, key, dynamolock.WithRefreshPeriod(l.ttl/10),
			dynamolock.WithAdditionalTimeToWaitForLock(time.Hour), // the context is the limit
			dynamolock.WithSessionMonitor(l.ttl-3*l.ttl/beats, func() { l.danger(key, g) }))
		l.mu.Lock()
		if err == nil && !g.lost {
			g.item = item
			lease := g.lease
			l.mu.Unlock()
			return &adapter.Grant{Lease: lease}, nil
		}
		delete(l.held, key)
		l.mu.Unlock()
		if err == nil { // it was about to expire before the user had it
			if _, err = l.release(item); err != nil {
				return nil, err
			}
		}
		if l.db.wire.doubt.Load() {
			return nil, errors.Join(err, errors.New("a write was not answered"))
		}
		var none *types.ResourceNotFoundException
		if errors.As(err, &none) {
			_, _ = l.client.CreateTableWithContext(ctx, table) // the next try tells, and another client may be quicker
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(l.ttl / 50):
		}
	}
}

// danger is the session monitor's callback.
func (l *lock) danger(key string, g *grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.lost = true
	if l.held[key] == g && g.item != nil {
		_ = l.program.Lost(key) // an error ends the program at its next answer
	}
}

// granted is called for each write that was answered and has started a lease.
func (l *lock) granted(key string, lease adapter.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch g := l.held[key]; {
	case g == nil:
	case g.item == nil:
		g.lease = &lease
	default:
		_ = l.program.Renewed(key, lease) // likewise
	}
}

func (l *lock) Release(key string) (bool, error) {
	l.mu.Lock()
	g := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if g == nil {
		return false, nil
	}
	return l.release(g.item)
}

// release waits for a lease at most: the library first waits for its heartbeat without a limit.
func (l *lock) release(item *dynamolock.Lock) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.ttl)
	done := make(chan error, 1)
	client := l.client
	go func() {
		defer cancel()
		_, err := client.ReleaseLockWithContext(ctx, item)
		done <- err
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(l.ttl / 10):
			err = ctx.Err()
		}
	}
	var taken *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &taken):
		return false, nil
	}
	return false, errors.Join(err, l.renew())
}

// watched observes the library's writes, which it does not report: when one that was answered had been asked for.
type watched struct {
	*dynamodb.Client
	lock *lock
	wire *wire
}

func (w *watched) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	since := adapter.Monotonic()
	out, err := w.Client.PutItem(ctx, in, opts...)
	if err == nil {
		w.lock.granted(keyOf(in.Item), adapter.Lease{For: w.lock.ttl, Since: since})
	}
	return out, err
}

func (w *watched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	since := adapter.Monotonic()
	out, err := w.Client.UpdateItem(ctx, in, opts...)
	if err == nil && beat(in) {
		w.lock.granted(keyOf(in.Key), adapter.Lease{For: w.lock.ttl, Since: since})
	}
	return out, err
}

// beat says that a write is a heartbeat: the other one is a release, which leaves the lease's length alone.
func beat(in *dynamodb.UpdateItemInput) bool {
	for _, name := range in.ExpressionAttributeNames {
		if name == "leaseDuration" {
			return true
		}
	}
	return false
}

func keyOf(item map[string]types.AttributeValue) string {
	if s, ok := item["key"].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// wire observes whether a lock was written for which no answer came: the SDK then asks again, and its
// second answer is a refusal.
type wire struct {
	next  http.RoundTripper
	doubt atomic.Bool
}

func (w *wire) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := w.next.RoundTrip(q)
	var op *net.OpError
	unsent := errors.As(err, &op) && op.Op == "dial"
	if strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".PutItem") && (err != nil && !unsent || err == nil && r.StatusCode >= http.StatusInternalServerError) {
		w.doubt.Store(true)
	}
	return r, err
}

func main() {
	adapter.Serve(func(p *adapter.Program) adapter.Lock { return &lock{program: p} })
}
