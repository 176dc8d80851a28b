//go:build library

// client-go's leader election (https://github.com/kubernetes/client-go) on a Lease object, as its own
// example has it: with ReleaseOnCancel, and a client that bounds no request.
//
// Its documentation (https://pkg.go.dev/k8s.io/client-go/tools/leaderelection) promises that a candidate
// takes a Lease over only if it has seen the same record for LeaseDuration, and no fencing. A client holds the
// lock from OnStartedLeading to OnStoppedLeading.
//
// The durations are those of Kubernetes' own components (15, 10 and 2 s), scaled to the lease. Option
// request: "unbounded" (default), or "bounded": each request has half the renew deadline, as the components'
// resourcelock.NewFromKubeconfig does it.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/picklock/picklock/clients/go/adapter"
)

// The API server that picklock starts knows this token, and Leases are kept in this namespace there.
const (
	token     = "picklock"
	namespace = "default"
)

type lock struct {
	program *adapter.Program
	options adapter.Open
	leases  coordination.LeasesGetter
	held    map[string]*grant
}

type grant struct {
	record  *record
	stop    context.CancelFunc
	stopped chan struct{} // closes at OnStoppedLeading
}

func (l *lock) Open(o adapter.Open) (adapter.Abilities, error) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard) // it tells of each try
	l.options, l.held = o, map[string]*grant{}
	config := &rest.Config{
		Host: "https://" + o.Servers[0], BearerToken: token, QPS: -1, // 5 a second, the default, is less than a short lease needs
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // the server makes its certificate at its start
	}
	switch request := o.Options["request"]; request {
	case "", "unbounded":
	case "bounded":
		config.Timeout = max(deadline(o.TTL)/2, time.Second)
	default:
		return nil, fmt.Errorf("%w: option request=%s: want unbounded or bounded", adapter.ErrNotSent, request)
	}
	c, err := coordination.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	l.leases = c
	// "OnStoppedLeading is called when a LeaderElector client stops leading"
	// (https://pkg.go.dev/k8s.io/client-go/tools/leaderelection#LeaderCallbacks).
	return adapter.Loaded(adapter.Abilities{"lease": true, "tokens": true, "watchdog": true, "notifies": true}, "k8s.io/client-go"), nil
}

func deadline(ttl time.Duration) time.Duration { return ttl * 10 / 15 }

// Acquire runs an elector of its own for each grant, whose identity is new: so each changes the holder,
// and leaseTransitions counts them.
func (l *lock) Acquire(ctx context.Context, key string) (*adapter.Grant, error) {
	r := &record{
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: key, Namespace: namespace}, Client: l.leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: l.options.Client + "_" + rand.Text()},
		},
		tell: func(lease adapter.Lease) { _ = l.program.Renewed(key, lease) }, // an error ends the program at its next answer
	}
	g := &grant{record: r, stopped: make(chan struct{})}
	started := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: r, LeaseDuration: l.options.TTL, RenewDeadline: deadline(l.options.TTL), RetryPeriod: l.options.TTL * 2 / 15, ReleaseOnCancel: true, Name: key,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() { close(g.stopped) },
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", adapter.ErrNotSent, err)
	}
	run, stop := context.WithCancel(context.Background())
	g.stop = stop
	go elector.Run(run)
	select {
	case <-started:
		l.held[key] = g
		transitions, lease := r.granted()
		go l.watch(key, g)
		return &adapter.Grant{Token: transitions + 1, Lease: &lease}, nil
	case <-ctx.Done():
	}
	stop()
	select {
	case <-g.stopped: // if it was granted in the last moment, the elector has tried to release it
	case <-time.After(l.options.TTL):
		return nil, errors.New("the elector has not ended")
	}
	return nil, r.unsettled()
}

// watch passes the end of the leadership on, unless the user has asked for it.
func (l *lock) watch(key string, g *grant) {
	<-g.stopped
	if g.record.end() {
		_ = l.program.Lost(key) // likewise
	}
}

// Release ends the elector, which releases the Lease if it believes that it leads.
func (l *lock) Release(key string) (bool, error) {
	g := l.held[key]
	if g == nil {
		return false, nil
	}
	delete(l.held, key)
	g.record.end()
	g.stop()
	select {
	case <-g.stopped:
		return g.record.wasReleased()
	case <-time.After(l.options.TTL):
		return false, errors.New("the elector has not ended")
	}
}

// record is the library's own lock on a Lease. It observes what the elector writes, without a change: the
// elector reports neither when the update that was answered last went out, nor how its release ended.
type record struct {
	*resourcelock.LeaseLock
	tell func(adapter.Lease)

	mu          sync.Mutex
	transitions int64
	lease       adapter.Lease // of the newest answered write that acquired or renewed the Lease
	held        bool          // the grant is the user's
	open        error         // why it is unknown what became of the latest write
	read        error         // why the latest read failed
	release     error
	released    bool // a release was tried
}

func (r *record) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := r.LeaseLock.Get(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = err
	return record, raw, err
}

func (r *record) Create(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	return r.write(ctx, to, r.LeaseLock.Create)
}

func (r *record) Update(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	return r.write(ctx, to, r.LeaseLock.Update)
}

func (r *record) write(ctx context.Context, to resourcelock.LeaderElectionRecord, do func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	since := adapter.Monotonic()
	err := do(ctx, to)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil && !refused(err):
		r.open = err
	case err == nil:
		r.open = nil
	}
	if to.HolderIdentity == "" {
		r.released, r.release = true, err
	} else if err == nil {
		r.transitions = int64(to.LeaderTransitions)
		r.lease = adapter.Lease{For: time.Duration(to.LeaseDurationSeconds) * time.Second, Since: since}
		if r.held {
			r.tell(r.lease)
		}
	}
	return err
}

// refused says that a write certainly had no effect: it was never sent, or the API server has refused it.
func refused(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := int(status.Status().Code)
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}

func (r *record) granted() (transitions int64, l adapter.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = true
	return r.transitions, r.lease
}

// end says whether the grant was the user's until now.
func (r *record) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.held
	r.held = false
	return was
}

// unsettled is why it is unknown whether the client holds the Lease; nil if it does not.
func (r *record) unsettled() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}

// wasReleased is the outcome of the release.
func (r *record) wasReleased() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.released && r.release == nil:
		return true, nil
	case r.released && refused(r.release):
		return false, nil // another client has written the Lease
	case r.released:
		return false, r.release
	case r.read != nil && !apierrors.IsNotFound(r.read):
		return false, r.read // newer versions read before they release
	}
	return false, nil // the elector knows that it does not lead
}

func main() {
	adapter.Serve(func(p *adapter.Program) adapter.Lock { return &lock{program: p} })
}
