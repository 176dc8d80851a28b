package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options name a queue.
type Options struct {
	URL    string  // nats://host:port[,...] or tls://...
	Server *Server // used instead of URL: one in this process
	Token  string
	CA     string // PEM file of the authority that signed the server's certificate
	// Certificate and Key are the client's files, if the server asks for a certificate.
	Certificate, Key string
	Name             string // of this client, as the server's monitoring shows it
	// Wait is how long Connect waits for a queue that does not exist yet; 0: not at all. Say is
	// called once if it waits, and later when the queue is lost and when it is back. It may be nil.
	Wait time.Duration
	Say  func(text string)
}

// Queue is a connection to a JetStream. It outlives restarts of the server: requests wait
// meanwhile.
type Queue struct {
	nc *nats.Conn
	js jetstream.JetStream

	dismissal     *nats.Subscription
	dismissed     chan struct{} // closed when the server says that it ends
	onceDismissed sync.Once
}

// ErrUnreachable says that the address has no queue, or that the queue refuses this client.
var ErrUnreachable = errors.New("the queue cannot be reached")

const (
	connectWithin = 10 * time.Second
	// askWithin is how long one request may take before it is repeated.
	askWithin = 10 * time.Second
	// The pauses between two attempts to connect.
	firstWait, longestWait = 200 * time.Millisecond, 5 * time.Second
)

// Connect connects to a queue. If it does not exist yet, Connect waits up to Wait. If it refuses
// this client, Connect does not wait.
func Connect(ctx context.Context, o Options) (*Queue, error) {
	until, wait, said := time.Now().Add(o.Wait), firstWait, false
	for {
		q, err := once(ctx, o)
		if err == nil || !absent(err) || ctx.Err() != nil || !time.Now().Before(until) {
			return q, err
		}
		if !said && o.Say != nil {
			o.Say(fmt.Sprintf("there is no queue at %s yet: waiting for it up to %v (--wait)", places(o.URL), o.Wait))
		}
		said = true
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(min(wait, time.Until(until))):
			wait = min(2*wait, longestWait)
		}
	}
}

// absent says that the queue may exist later: nothing listens, DNS does not know its name yet, or
// its JetStream is still starting.
func absent(err error) bool {
	var dns *net.DNSError
	var network net.Error
	var refused *jetstream.APIError
	switch {
	case errors.Is(err, errSilent):
		return false
	case errors.As(err, &refused):
		return refused.Code >= 500
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrNoResponders),
		errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, context.DeadlineExceeded):
		return true
	case errors.As(err, &dns):
		return true
	}
	return errors.As(err, &network) && network.Timeout()
}

// places are the hosts and ports of a queue's addresses, without the names and passwords that the
// addresses may contain.
func places(urls string) string {
	var out []string
	for _, one := range strings.Split(urls, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil && u.Host != "" {
			out = append(out, u.Host)
		}
	}
	if len(out) == 0 {
		return "its address"
	}
	return strings.Join(out, ", ")
}

// errSilent says that what listens at the address is no queue. A queue speaks first.
var errSilent = errors.New("no queue")

func isTimeout(err error) bool {
	var network net.Error
	return errors.Is(err, nats.ErrTimeout) || errors.As(err, &network) && network.Timeout()
}

// once tries to connect once.
func once(ctx context.Context, o Options) (*Queue, error) {
	first := &dialer{ctx: ctx}
	opts := []nats.Option{
		nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.Timeout(connectWithin),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(3), nats.SetCustomDialer(first), nats.SkipHostLookup(),
	}
	q := &Queue{dismissed: make(chan struct{})}
	opts = append(opts, o.watch(q)...)
	if o.Server != nil {
		opts = append(opts, nats.InProcessServer(o.Server.s))
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.CA != "" {
		opts = append(opts, nats.RootCAs(o.CA))
	}
	if o.Certificate != "" {
		opts = append(opts, nats.ClientCert(o.Certificate, o.Key))
	}
	nc, err := nats.Connect(o.URL, opts...)
	if err != nil && o.Server == nil && first.connected() && isTimeout(err) {
		return nil, fmt.Errorf("%w at %s: %w: something listens there and does not answer as a queue within %v: look at host and port", ErrUnreachable, places(o.URL), errSilent, connectWithin)
	}
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w (token: PICKLOCK_QUEUE_TOKEN; TLS: tls://, --queue-ca)", ErrUnreachable, places(o.URL), err)
	}
	js, err := jetstream.New(nc)
	q.nc, q.js = nc, js
	if err == nil {
		err = q.heedDismissal()
	}
	if err == nil {
		asked, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		_, err = js.AccountInfo(asked)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("%w: its JetStream does not answer: %w", ErrUnreachable, err)
	}
	first.done()
	return q, nil
}

// watch reports when the queue is lost and when it is back, each once. It silences the errors of
// subscriptions: their owners get them, and the library would print them again and again.
func (o Options) watch(q *Queue) []nats.Option {
	say := func(text string) {
		if o.Say != nil {
			o.Say(text)
		}
	}
	return []nats.Option{
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			switch {
			case nc.IsClosed():
			case q.isDismissed():
				say(fmt.Sprintf("the campaign at %s has ended, and its queue with it", places(o.URL)))
			case err != nil:
				say(fmt.Sprintf("the queue at %s is gone: trying again until it is back", places(o.URL)))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { say(fmt.Sprintf("the queue at %s is back", places(o.URL))) }),
	}
}

// dialer ends the first attempt to connect with its context, even if the server hangs. Later
// connections do not depend on that context: after its end, results are still sent.
type dialer struct {
	mu   sync.Mutex
	ctx  context.Context //nolint:containedctx // nats calls Dial without a context
	stop []func() bool
	some bool // an address was connected to
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := (&net.Dialer{Timeout: connectWithin}).DialContext(d.ctx, network, address)
	d.some = d.some || err == nil
	if err == nil && d.ctx.Done() != nil {
		d.stop = append(d.stop, context.AfterFunc(d.ctx, func() { _ = c.Close() })) // the attempt is to end
	}
	return c, err
}

// connected says that something listens at an address.
func (d *dialer) connected() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.some
}

// done says that the first connection is established.
func (d *dialer) done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx = context.Background()
	for _, stop := range d.stop {
		stop()
	}
	d.stop = nil
}

// Close ends the connection.
func (q *Queue) Close() { q.nc.Close() }

// retry repeats a request until the server answers: a restart, or an election in a cluster, is
// no failure. A refusal is one.
func retry(ctx context.Context, ask func(ctx context.Context) error) error {
	wait := 100 * time.Millisecond
	for {
		bounded, cancel := context.WithTimeout(ctx, askWithin)
		err := ask(bounded)
		cancel()
		if err == nil || ctx.Err() != nil || !isTransient(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
			wait = min(2*wait, 2*time.Second)
		}
	}
}

// isTransient says that another attempt may succeed.
func isTransient(err error) bool {
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return refused.Code >= 500
	}
	for _, e := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrNoServers,
		nats.ErrStaleConnection, jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat, jetstream.ErrConsumerLeadershipChanged, jetstream.ErrJetStreamNotEnabled,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
