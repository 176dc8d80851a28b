package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/forward"
)

// A run on servers that run already, and that others may use: its keys differ from
// theirs, what it asks of the servers is bounded and announced, and nothing of it stays.

// externalRate is how many critical sections a second and client there are on such servers
// where the user says nothing.
const externalRate = 20

// Announcer is an Observer that shows what a run is about to do to what is not its own.
type Announcer interface {
	Announce(text string)
}

// newMark is in the names of one run's keys and in no other's.
func newMark() string { return clients.MarkPrefix + strings.ToLower(rand.Text()[:10]) + "-" }

// useExternal prepares a run on servers that run already; of others it does nothing.
func (r *run) useExternal(def *compose.Definition) error {
	r.external = def.External()
	if len(r.external) == 0 {
		return nil
	}
	if as := os.Getenv(compose.CleanVariable); as != "" && r.lock.IsExec() {
		service, err := r.Locks.ForForeignKeys(as)
		if err != nil {
			return fmt.Errorf("%w: --clean-as: %w", ErrUsage, err)
		}
		r.lock.Service = service
	}
	if r.lock.Service == nil && !r.lock.IsExec() {
		return fmt.Errorf("%w: lock %s is not made for servers that run already: picklock does not know how to remove what it leaves there", ErrUsage, r.lock.Name)
	}
	r.mark = newMark()
	r.access = &clients.External{Addresses: r.external, Access: def.Access}
	r.keys = keyNames(r.mark, r.Keys)
	if r.Rate == 0 && !r.scripted {
		r.Rate = externalRate
		r.desc.Rate = r.Rate
	}
	text := r.announcement()
	if a, ok := r.Observer.(Announcer); ok {
		a.Announce(text)
	} else {
		r.Log.Info(text)
	}
	if r.lock.Service == nil {
		r.desc.Warnings = append(r.desc.Warnings, fmt.Sprintf("what %s left on %s was not removed: picklock does not know what service that is. Its keys contain %s. %s", r.lock.Name, strings.Join(r.external, ", "), r.mark, howToClean(r.external, r.mark)))
	}
	return nil
}

// announcement says what the run will do to the servers.
func (r *run) announcement() string {
	how := "as their scenario says"
	if r.conforms {
		how = "as the checks of the protocol want it"
	} else if !r.scripted {
		how = fmt.Sprintf("at most %g critical sections a second each (--rate)", r.Rate)
	}
	after := "removed in the end"
	if r.lock.Service == nil {
		after = "which are yours to remove: picklock does not know the service of " + r.lock.Name + ". " + howToClean(r.external, r.mark)
	}
	return fmt.Sprintf("%s was not started by picklock, and only clients and their links are harmed. %d clients, %s; at most %d messages and %d new connections a second to each server. Keys contain %s, %s",
		strings.Join(r.external, ", "), len(r.names), how, forward.Usual.Messages, forward.Usual.Connections, r.mark, after)
}

// howToClean says how what is left of an exec lock goes.
func howToClean(servers []string, mark string) string {
	return fmt.Sprintf("With --clean-as redis (etcd, zookeeper, consul) it is removed there; later: picklock clean --endpoint %s --clean-as SERVICE --mark %s", strings.Join(servers, ","), mark)
}

// ExternalPlays says what many runs, some of them side by side, will do to servers that run
// already.
func ExternalRuns(servers string) string {
	return fmt.Sprintf("%s was not started by picklock, and only clients and their links are harmed. At most %d messages and %d new connections a second to each server from each run that is under way. Keys contain %s and a mark of their run, and are removed after it (those of an exec: lock with --clean-as alone)",
		servers, forward.Usual.Messages, forward.Usual.Connections, clients.MarkPrefix)
}

// cleanWithin is how long it may take to make what a run needs, and to remove what it has
// left.
const cleanWithin = time.Minute

// tryWithin is how long servers that are not the run's own may take to let it in.
const tryWithin = 10 * time.Second

// tryExternal returns an error if the run could not clean up after itself: nothing has been
// written then, and nothing will be.
func (r *run) tryExternal(ctx context.Context) error {
	if r.mark == "" || r.lock.Service == nil {
		return nil
	}
	try, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	if _, err := r.lock.Service.Clean(try, r.externalOptions(), r.mark); err != nil {
		r.mark = ""
		return fmt.Errorf("%s does not accept this run (see docs/guides/endpoint.md for TLS and passwords): %w", strings.Join(r.external, ", "), err)
	}
	if r.lock.Service.Prepare == nil {
		return nil
	}
	ready, cancel := context.WithTimeout(ctx, cleanWithin)
	defer cancel()
	if err := r.lock.Service.Prepare(ready, r.externalOptions(), r.mark); err != nil {
		return fmt.Errorf("%s cannot be made ready: %w", strings.Join(r.external, ", "), err)
	}
	return nil
}

// externalOptions are how the harness itself comes to the servers.
func (r *run) externalOptions() clients.Options {
	return clients.Options{Servers: r.servers(), External: r.access, TTL: r.TTL, Client: "picklock", Extra: r.Extra, Log: r.Log}
}

// cleanExternal ends the clients and removes what they have left on servers that are not
// the run's own.
func (r *run) cleanExternal() error {
	if r.mark == "" || r.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanWithin) // whatever became of the run
	defer cancel()
	var err error
	for _, n := range r.cluster.Nodes() {
		if n.Role == compose.Client {
			err = errors.Join(err, r.cluster.Kill(ctx, n.Name))
		}
	}
	if r.lock.Service == nil {
		return err
	}
	// A killed client's last requests may still be under way.
	for {
		n, cerr := r.lock.Service.Clean(ctx, r.externalOptions(), r.mark)
		if cerr != nil {
			return errors.Join(err, fmt.Errorf("clean up %s: %w; what is left there contains %s", strings.Join(r.external, ", "), cerr, r.mark))
		}
		if n == 0 {
			return err
		}
	}
}
