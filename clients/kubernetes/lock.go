package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func kubernetesInfo() clients.Info {
	return clients.Info{
		Name:    "kubernetes-lease",
		About:   "Kubernetes: client-go's leader election on a Lease, with ReleaseOnCancel; one more than leaseTransitions is the token",
		Cluster: "kubernetes",
		Fencing: true,
		Module:  "k8s.io/client-go",
		MinTTL:  time.Second,
		Inspect: lookKube,
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			l, err := newKubeLock(o)
			if err != nil {
				return nil, err
			}
			return l, nil
		},
		Sequencer: openKubeSequencer,
	}
}

// The API server that picklock starts knows this token, and Leases are kept in this namespace
// there.
const (
	kubeToken     = "picklock"
	kubeNamespace = "default"
)

// kubeLock runs one LeaderElector for each acquire, with the durations of Kubernetes'
// own components (15, 10 and 2 s) scaled to the lease asked for.
//
// Waiting clients count the lease: each takes a Lease over only when it has seen
// the same record for the lease's length, on its own clock and from its own reading on,
// and only by an update that fails if the record has changed since. No client reads an
// update before it was sent, so the promise holds from its sending on, among clients that
// all do that. (They compare records, though, whose renewTime
// client-go writes in whole seconds: with renewals more often than once a second some
// are not seen, and the Lease is taken over early. See docs/findings/index.md.)
//
// Each grant has an identity of its own, so that every grant changes the holder and
// leaseTransitions counts them; it starts anew only when the Lease is deleted.
type kubeLock struct {
	options clients.Options
	leases  coordination.CoordinationV1Interface
	group   sync.WaitGroup // electors
	ctx     context.Context
	stop    context.CancelFunc // ends all electors

	namespace string
	http      http.RoundTripper // the lock's own; nil for the module's shared one
}

func newKubeLock(o clients.Options) (*kubeLock, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("kubernetes: no servers given")
	}
	config, namespace, err := reach(o)
	if err != nil {
		return nil, err
	}
	// The components' own bound for a request (resourcelock.NewFromKubeconfig).
	config.Timeout = max(o.TTL/3, time.Second)
	config.QPS = -1 // 5 a second, the default, is less than a short lease needs
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	c, err := coordination.NewForConfigAndClient(config, h)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	l := &kubeLock{options: o, leases: c, namespace: namespace}
	if o.External != nil { // else the module shares it in the process
		l.http = h.Transport
	}
	l.ctx, l.stop = context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	return l, nil
}

// kubeGrant is a grant's Ref.
type kubeGrant struct {
	record *kubeRecord
	stop   context.CancelFunc
	done   <-chan struct{} // closes when the elector has ended
}

func (l *kubeLock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	record := &kubeRecord{
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: key, Namespace: l.namespace},
			Client:     l.leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: l.options.Client + "_" + rand.Text()},
		},
		options: l.options,
	}
	leading, done := make(chan context.Context, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: record, LeaseDuration: l.options.TTL, RenewDeadline: l.options.TTL * 10 / 15, RetryPeriod: l.options.TTL * 2 / 15,
		ReleaseOnCancel: true, Name: key,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { leading <- ctx },
			OnStoppedLeading: func() { close(done) },
		},
	})
	if err != nil {
		return clients.Grant{}, fmt.Errorf("kubernetes: acquire %s: %w", key, err)
	}
	run, stop := context.WithCancel(l.ctx)
	l.group.Go(func() { elector.Run(run) })
	select {
	case lead := <-leading:
		token, r, renewals := record.granted()
		return clients.Grant{Key: key, Token: token, Since: r.Since, Lease: r.Lease, Lost: lead.Done(), Renewals: renewals,
			Ref: kubeGrant{record, stop, done}}, nil
	case <-ctx.Done():
	}
	stop()
	<-done
	// If it was granted in the last moment, the elector has released it.
	if err := record.unsettled(); err != nil {
		return clients.Grant{}, fmt.Errorf("kubernetes: acquire %s: %w: %w", key, clients.ErrUnknown, err)
	}
	return clients.Grant{}, adapter.Timeout(ctx, "kubernetes", key, record.trouble())
}

// Release cancels the elector, which releases the Lease if it believes that it leads.
func (l *kubeLock) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(kubeGrant)
	ref.record.releasing()
	ref.stop()
	select {
	case <-ref.done:
	case <-ctx.Done():
		return fmt.Errorf("kubernetes: release %s: %w: %w", g.Key, clients.ErrUnknown, ctx.Err())
	}
	if err := ref.record.wasReleased(); err != nil {
		return fmt.Errorf("kubernetes: release %s: %w", g.Key, err)
	}
	return nil
}

// Close ends all electors, which release what they believe to lead.
func (l *kubeLock) Close() error {
	l.stop()
	l.group.Wait()
	if l.http != nil {
		utilnet.CloseIdleConnectionsFor(l.http)
	}
	return nil
}
