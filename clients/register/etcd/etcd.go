// Package etcd is the protected resource as keys in etcd.
package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// Backend is its line in the table.
func Backend() register.Backend {
	return register.Backend{
		Name: "etcd", About: "keys in etcd: one transaction that compares and writes, ordered by its revision", Cluster: "etcd-single",
		Open: func(addr string, m register.FencingMode) register.Resource {
			return &etcdResource{Conn: register.Conn[*clientv3.Client]{
				Addr: addr, FencingMode: m,
				Dial: func(context.Context, string) (*clientv3.Client, error) { return openEtcd(addr) },
			}}
		},
		OpenAdmin: openEtcdAdmin,
	}
}

// The keys of one resource, and those of the notes that each transaction leaves.
const (
	etcdNotes  = "/picklock/effects/"
	etcdPrefix = "/picklock/resource/"
)

func etcdToken(key string) string { return etcdPrefix + key + "/token" }
func etcdValue(key string) string { return etcdPrefix + key + "/value" }

// pad writes a token so that etcd, which compares bytes, compares numbers.
func pad(token int64) string { return fmt.Sprintf("%020d", token) }

// etcdNote is a transaction's record of itself, in a key of its own.
type etcdNote struct {
	register.Request
	Refused bool `json:"refused,omitempty"`
	// End: the note marks the end of the log.
	End bool `json:"end,omitempty"`
}

type etcdResource struct {
	register.Conn[*clientv3.Client]
	id int64 // of the latest request; one at a time
}

func openEtcd(addr string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
}

func (p *etcdResource) Do(ctx context.Context, r register.Request) (register.Reply, error) {
	return p.Conn.Do(ctx, r, func(c *clientv3.Client) (register.Reply, error) { return p.send(ctx, c, r) })
}

func (p *etcdResource) send(ctx context.Context, c *clientv3.Client, r register.Request) (register.Reply, error) {
	p.id++
	r.ID = p.id
	txn, err := p.transaction(ctx, c, r)
	if err != nil {
		return register.Reply{}, p.NotSent(err)
	}
	got, err := txn.Commit()
	if err != nil {
		return register.Reply{}, p.InDoubt(r, err)
	}
	if !got.Succeeded {
		var highest int64
		for _, kv := range got.Responses[1].GetResponseRange().GetKvs() {
			if highest, err = strconv.ParseInt(string(kv.Value), 10, 64); err != nil {
				return register.Reply{}, fmt.Errorf("register %s: the token of %s: %w", p.Addr, r.Key, err)
			}
		}
		return register.Reply{}, p.FencingMode.Refused(r, highest)
	}
	reply := register.Reply{Value: r.Value}
	if r.F != history.Read {
		// The key's previous version gives its current one.
		reply.Version = got.Responses[1].GetResponsePut().GetPrevKv().GetVersion() + 1
		return reply, nil
	}
	for _, kv := range got.Responses[1].GetResponseRange().GetKvs() {
		reply.Value, reply.Version = string(kv.Value), kv.Version
	}
	return reply, nil
}

// transaction is all of one request: the comparison, the effect and the note.
func (p *etcdResource) transaction(ctx context.Context, c *clientv3.Client, r register.Request) (clientv3.Txn, error) {
	write := r.F != history.Read
	note, err := json.Marshal(etcdNote{Request: r})
	if err != nil {
		return nil, err
	}
	against, err := json.Marshal(etcdNote{Request: r, Refused: true})
	if err != nil {
		return nil, err
	}
	place := fmt.Sprintf("%s%s/%s/%d", etcdNotes, r.Process, r.Grant, r.ID)
	then := []clientv3.Op{clientv3.OpPut(place, string(note))}
	if write {
		then = append(then, clientv3.OpPut(etcdValue(r.Key), r.Value, clientv3.WithPrevKV()))
	} else {
		then = append(then, clientv3.OpGet(etcdValue(r.Key)))
	}
	if p.FencingMode.Fenced() && p.FencingMode.Raises(write) {
		then = append(then, clientv3.OpPut(etcdToken(r.Key), pad(r.Token)))
	}
	txn := c.Txn(ctx)
	if bar := p.FencingMode.Bar(write, r.Token); bar != register.Unbarred {
		txn = txn.If(clientv3.Compare(clientv3.Value(etcdToken(r.Key)), "<", pad(bar)))
	}
	return txn.Then(then...).Else(clientv3.OpPut(place, string(against)), clientv3.OpGet(etcdToken(r.Key))), nil
}

// etcdAdmin watches the notes as they come: etcd has no clock, so the time of an
// effect is when it was seen.
type etcdAdmin struct {
	client *clientv3.Client
	mode   register.FencingMode
	start  int64
	cancel context.CancelFunc
	ended  chan struct{} // closed at the watch's end
	err    error         // nil if that is the log's end, too

	effects  []history.Effect // the watch's own until it ended
	versions map[string]history.Effect
}

func openEtcdAdmin(ctx context.Context, addr string, m register.FencingMode, keys []string, start int64) (register.Admin, error) {
	client, err := openEtcd(addr)
	if err != nil {
		return nil, err
	}
	a := &etcdAdmin{client: client, mode: m, start: start, ended: make(chan struct{}), versions: map[string]history.Effect{}}
	for _, key := range keys {
		if err == nil {
			// A comparison with a key that is not there fails.
			_, err = client.Put(ctx, etcdToken(key), pad(0))
		}
	}
	var now *clientv3.GetResponse
	if err == nil {
		now, err = client.Get(ctx, etcdNotes)
	}
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(a.ended)
		a.err = a.follow(client.Watch(ctx, etcdNotes, clientv3.WithPrefix(), clientv3.WithRev(now.Header.Revision+1)))
	}()
	return a, nil
}

// follow records the notes in the order of their revisions, up to the one that ends the log.
func (a *etcdAdmin) follow(watch clientv3.WatchChan) error {
	for w := range watch {
		if err := w.Err(); err != nil {
			return err
		}
		for _, e := range w.Events {
			if e.Type != mvccpb.PUT {
				continue
			}
			var n etcdNote
			if err := json.Unmarshal(e.Kv.Value, &n); err != nil {
				return fmt.Errorf("note %s: %w", e.Kv.Key, err)
			}
			if n.End {
				return nil
			}
			a.note(n)
		}
	}
	return errors.New("the watch ended")
}

// note replays a request, to know the state that it met.
func (a *etcdAdmin) note(n etcdNote) {
	state := a.versions[n.Key]
	write := n.F != history.Read
	e := history.Effect{
		Seq: int64(len(a.effects) + 1), Time: history.Now() - a.start, Process: n.Process, F: n.F, Key: n.Key, Grant: n.Grant,
		Token: n.Token, Value: n.Value, Parent: n.Parent,
	}
	if !n.Refused {
		if write {
			state.Value, state.Version = n.Value, state.Version+1
		} else {
			e.Value = state.Value
		}
		if a.mode.Raises(write) {
			state.Highest = max(state.Highest, n.Token)
		}
	}
	a.versions[n.Key] = state
	e.Version, e.Highest = state.Version, state.Highest
	a.effects = append(a.effects, a.mode.Effect(e, n.Refused))
}

func (a *etcdAdmin) Log(ctx context.Context) ([]history.Effect, error) {
	end, err := json.Marshal(etcdNote{End: true})
	if err != nil {
		return nil, err
	}
	if _, err := a.client.Put(ctx, etcdNotes+"end", string(end)); err != nil {
		return nil, err
	}
	select {
	case <-a.ended:
		return a.effects, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *etcdAdmin) Close() error {
	a.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	select {
	case <-a.ended:
	case <-ctx.Done():
	}
	return a.client.Close()
}
