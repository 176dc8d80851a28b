package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/harness/conform"
	"github.com/picklock/picklock/internal/scratch"
)

// Conform starts the cluster and tries the program of an exec lock against the protocol,
// on a client's node. Each check's result is handed over when it is there.
func Conform(ctx context.Context, o Options, found func(conform.Result)) (err error) {
	o.Clients, o.Fencing, o.Workload = 1, Defaults().Fencing, ""
	o.Observer, o.Log = quiet{to: o.Observer}, slog.New(slog.DiscardHandler)
	p, err := o.plan()
	if err != nil {
		return err
	}
	dir, err := scratch.Make()
	if err != nil {
		return fmt.Errorf("make a folder for the nodes: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	def, err := p.definition(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	r := &run{plan: p, conforms: true}
	if err := r.useExternal(def); err != nil {
		return err
	}
	if r.cluster, err = r.startCluster(ctx, def, filepath.Join(dir.Path, "nodes"), filepath.Join(dir.Path, "data")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cleanExternal(), r.cluster.Close()) }()
	if err := r.tryExternal(ctx); err != nil {
		return err
	}
	proc, err := r.cluster.Spawn(ctx, compose.Program{Name: p.names[0], Role: compose.Client, Args: []string{"conform"}})
	if err != nil {
		return err
	}
	cfg := conform.Config{Command: strings.TrimPrefix(p.Lock, clients.ExecPrefix), Servers: r.servers(), Mark: r.mark, TTL: p.TTL, Extra: p.Extra, Abilities: p.Abilities}
	cfg.Directory = r.cluster.Directory()
	if err := json.NewEncoder(proc.Stdin).Encode(cfg); err != nil {
		return fmt.Errorf("say what to try: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { proc.Stdin.Close() }) // it ends then, with what it has started
	defer stop()
	defer proc.Stdout.Close()
	for results := json.NewDecoder(proc.Stdout); ; {
		var result conform.Result
		err := results.Decode(&result)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			<-proc.Done
			return proc.Err()
		case err != nil:
			return fmt.Errorf("read what was found: %w", err)
		}
		found(result)
	}
}

// quiet is an Observer that gets announcements alone: each change to servers that picklock did not
// start, before it is made.
type quiet struct {
	silent
	to Observer
}

// Announce implements Announcer.
func (q quiet) Announce(text string) {
	if a, ok := q.to.(Announcer); ok {
		a.Announce(text)
	}
}
