package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

// kubeRecord is the module's own lock on a Lease. It observes what the elector reads and
// writes, without changing it. The elector reports neither when the update that was answered
// last went out, nor the outcome of its release.
type kubeRecord struct {
	*resourcelock.LeaseLock
	options clients.Options

	mu       sync.Mutex
	token    int64
	last     clients.Renewal        // the newest answered write that acquired or renewed the Lease
	listens  chan<- clients.Renewal // of the grant in force, nil before
	open     error                  // why it is unknown whether the latest write took effect
	base     []byte                 // the record that it was to replace, nil for a create
	seen     []byte                 // the record of the latest read; nil if none, or since the latest write
	read     error                  // why the latest read failed
	asked    bool                   // the user releases
	release  error                  // the outcome of the user's release
	released bool                   // it was tried
}

func (r *kubeRecord) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := r.LeaseLock.Get(ctx)
	r.mu.Lock()
	r.read = err
	if err == nil && record.HolderIdentity != r.Identity() && !bytes.Equal(raw, r.base) {
		// Another record than the one that this write was to replace: the write came before
		// and was replaced, or it will be refused. Where the record is the same, the write may
		// still be on its way.
		r.open = nil
	}
	r.seen = raw
	r.mu.Unlock()
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != r.Identity() {
		r.options.TellWaiting()
	}
	return record, raw, err
}

func (r *kubeRecord) Create(ctx context.Context, ler resourcelock.LeaderElectionRecord) error {
	return r.write(ctx, ler, r.LeaseLock.Create)
}

func (r *kubeRecord) Update(ctx context.Context, ler resourcelock.LeaderElectionRecord) error {
	return r.write(ctx, ler, r.LeaseLock.Update)
}

func (r *kubeRecord) write(ctx context.Context, ler resourcelock.LeaderElectionRecord, do func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	r.mu.Lock()
	waits := r.listens == nil
	base := r.seen
	r.mu.Unlock()
	if waits {
		// The last request of a wait gets a moment to be answered, as with other locks.
		var cancel context.CancelFunc
		ctx, cancel = afterEnd(ctx, min(max(r.options.TTL/2, 250*time.Millisecond), time.Second))
		defer cancel()
	}
	sent := history.Now()
	err := do(ctx, ler)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ler.HolderIdentity == "" && r.asked {
		r.released, r.release = true, err
	}
	r.open = nil
	switch {
	case err != nil && !kubeRefused(err):
		r.open, r.base = err, base
	case err == nil && ler.HolderIdentity == r.Identity():
		r.token = int64(ler.LeaderTransitions) + 1
		r.seen = nil
		r.last = clients.Renewal{Since: sent, Lease: time.Duration(ler.LeaseDurationSeconds) * time.Second}
		select {
		case r.listens <- r.last:
		default:
		}
	}
	return err
}

// afterEnd is a context that ends some time after ctx.
func afterEnd(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(d, cancel)
		context.AfterFunc(out, func() { t.Stop() })
	})
	return out, func() { stop(); cancel() }
}

// kubeRefused says that a write certainly had no effect: it was never sent, or the API
// server has refused it.
func kubeRefused(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := int(status.Status().Code)
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}

// granted returns what is known of the grant, and prepares for its renewals.
func (r *kubeRecord) granted() (token int64, last clients.Renewal, renewals <-chan clients.Renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan clients.Renewal, 16)
	r.listens = c
	return r.token, r.last, c
}

// unsettled is the reason why it is unknown whether the client holds the Lease; nil if it does not.
func (r *kubeRecord) unsettled() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}

// trouble is why the latest read failed.
func (r *kubeRecord) trouble() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

// releasing records that from now on a release is the user's.
func (r *kubeRecord) releasing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = true
}

// wasReleased is the outcome of that release.
func (r *kubeRecord) wasReleased() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.released && r.release == nil:
		return nil
	case r.released && kubeRefused(r.release):
		return fmt.Errorf("%w: %w", clients.ErrNotHeld, r.release) // another client has written it
	case r.released:
		return fmt.Errorf("%w: %w", clients.ErrUnknown, r.release)
	case r.read != nil && !apierrors.IsNotFound(r.read):
		return fmt.Errorf("not released: %w", r.read)
	}
	return clients.ErrNotHeld // the elector knows that it does not lead
}

// kubeSequencer asks which change of holder is in force; the read of a single Lease is
// answered from etcd, by a quorum.
type kubeSequencer struct{ lock *kubeLock }

func openKubeSequencer(_ context.Context, o clients.Options) (clients.Sequencer, error) {
	l, err := newKubeLock(o)
	if err != nil {
		return nil, err
	}
	return kubeSequencer{l}, nil
}

func (q kubeSequencer) Valid(ctx context.Context, key string, token int64) (bool, error) {
	lease, err := q.lock.leases.Leases(q.lock.namespace).Get(ctx, key, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("kubernetes: who holds %s: %w", key, err)
	}
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	return record.HolderIdentity != "" && int64(record.LeaderTransitions)+1 == token, nil
}

func (q kubeSequencer) Close() error { return q.lock.Close() }

// lookKube counts the holder of the Lease; waiting clients leave nothing there.
func lookKube(ctx context.Context, o clients.Options, key string) (int, error) {
	server := o.Servers[0]
	o.TTL = adapter.InspectWithin
	l, err := newKubeLock(o)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(ctx, adapter.InspectWithin)
	defer cancel()
	lease, err := l.leases.Leases(l.namespace).Get(ctx, key, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("look at %s: %w", server, err)
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "":
		return 0, nil
	}
	return 1, nil
}
