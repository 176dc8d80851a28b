package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/fleet/web"
)

// serveFlags say what is shown, and where.
type serveFlags struct {
	queue       queueFlags
	dir, listen string
}

func serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use: "serve [DIR]", Short: "Show campaigns and their reports on a page that lives",
		Long: `Serve a page with the campaigns below a folder and those on a queue: what each came to, or
how far it is, who works on it and how fast, what is different from an earlier one, and every
report. It asks again by itself, and changes nothing.

It listens on this machine alone. With --listen others reach it: there is no password then,
and all that is shown can be read by whoever reaches the address.`,
		Example: `  picklock serve picklock-results
  picklock serve --queue nats://queue.example:4222
  picklock serve picklock-results --queue nats://127.0.0.1:4222 --listen 127.0.0.1:8000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return usage(err)
			}
			return f.run(cmd.Context(), os.Stdout)
		},
	}
	f.queue.add(c)
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:7474", "address of the page; port 0 takes a free one")
	return c
}

func (f *serveFlags) check(args []string) error {
	switch {
	case len(args) > 1:
		return fmt.Errorf("serve shows one folder, and there are %d: name the one that they are in", len(args))
	case len(args) == 1:
		f.dir = args[0]
	case f.queue.url == "":
		return errors.New("say what to show: picklock serve DIR, or --queue nats://... (see --help)")
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return fmt.Errorf("--listen %q: want HOST:PORT: %w", f.listen, err)
	}
	return f.queue.check()
}

// run serves until ctx ends, and says on out where.
func (f *serveFlags) run(ctx context.Context, out io.Writer) (err error) {
	o := web.Options{Dir: f.dir}
	if f.queue.url != "" {
		if o.Queue, err = f.queue.connect(ctx, "page", nil); err != nil {
			if ctx.Err() != nil {
				return nil // it was to end
			}
			return err
		}
		defer o.Queue.Close()
	}
	host, port, _ := net.SplitHostPort(f.listen) // check has looked at it
	if host == "" {
		host = "127.0.0.1"
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return usage(fmt.Errorf("--listen %s: %w (--listen 127.0.0.1:0 takes a free port)", f.listen, err))
	}
	defer l.Close()
	at, ok := l.Addr().(*net.TCPAddr)
	o.Loopback = ok && at.IP.IsLoopback()
	site, err := web.New(o)
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	if !o.Loopback {
		fmt.Fprintln(os.Stderr, "picklock: whoever reaches this address can read all that is shown: there is no password")
	}
	if _, err := fmt.Fprintf(out, "picklock: http://%s/\n", l.Addr()); err != nil {
		return fmt.Errorf("say where the page is: %w", err)
	}
	return site.Serve(ctx, l)
}
