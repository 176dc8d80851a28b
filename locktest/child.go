package locktest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/internal/gctune"
	"github.com/picklock/picklock/workloads"
)

// backends is what the protected resource of a test is made of.
var backends = register.Backends{register.OwnServer()}

// Child says that this process is not the test but a part of its experiment, started
// by Run or Hunt. A test that prepares something once only, such as a server of its own, asks
// before it does.
func Child() bool { return os.Getenv(orderEnv) != "" }

// child carries the order out and ends the process, if it is for this call of Run or Hunt.
func child(test string, call int, open Open, serve func(context.Context, string, []string) error) {
	var x order
	text, err := os.ReadFile(os.Getenv(orderEnv))
	if err == nil {
		err = json.Unmarshal(text, &x)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "locktest: read the order:", err)
		os.Exit(1)
	}
	if test != x.Test || call != x.Call {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err = x.node(ctx, clients.NewTable(nil, x.info(open)), serve, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "locktest:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// info is the lock of the test.
func (x order) info(open Open) clients.Info {
	return clients.Info{
		Name: x.lockName(), About: "the lock of a Go test", Cluster: x.Cluster, Fencing: x.Fencing != "none", Confirms: x.Confirms, AnyOption: true, ConnectsLate: true,
		Open: func(ctx context.Context, o clients.Options) (clients.Lock, error) {
			if len(x.Servers) > 0 {
				o.Servers = x.Servers
			}
			return open(ctx, o)
		},
	}
}

// node does what the picklock program does under these arguments.
func (x order) node(ctx context.Context, locks *clients.Table, serve func(context.Context, string, []string) error, args []string) error {
	if len(args) == 0 {
		return errors.New("no arguments")
	}
	switch name, args := args[0], args[1:]; name {
	case "worker":
		if err := gctune.Own(); err != nil {
			return fmt.Errorf("set the garbage collector: %w", err)
		}
		return workloads.Worker(ctx, workloads.Tables{Locks: locks, Backends: backends}, os.Stdin, os.Stdout, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	case "register":
		return serveRegister(ctx, args)
	case "testbed":
		return x.testbed(ctx, locks)
	case "server":
		if len(args) == 0 || serve == nil {
			return errors.New("which server? (Options.Builtin)")
		}
		return serve(ctx, args[0], args[1:])
	default:
		return fmt.Errorf("unknown part %q of an experiment", name)
	}
}

// serveRegister runs the protected resource until standard input ends.
func serveRegister(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("register", flag.ContinueOnError)
	listen := flags.String("listen", "", "")
	fencing := flags.String("fencing", "none", "")
	start := flags.Int64("start", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	d, err := register.ParseFencingMode(*fencing)
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("start the register: %w", err)
	}
	fmt.Println(harness.RegisterReady)
	return register.Serve(untilInputEnds(ctx), ln, register.NewStore(d, *start), os.Stdout)
}

// testbed runs scenarios and the schedules of a hunt, in namespaces where they can be had, until standard input
// ends.
func (x order) testbed(ctx context.Context, locks *clients.Table) error {
	if err := os.WriteFile(came(x.Program), nil, 0o600); err != nil {
		return fmt.Errorf("say that the testbed is there: %w", err)
	}
	sandbox, code, done := local.Enter()
	if done {
		os.Exit(code)
	}
	return harness.ServeTestbed(ctx, os.Stdin, os.Stdout, harness.Host{
		Locks: locks, Backends: backends, Runtime: harness.Local{Sandbox: sandbox}, Self: x.Program, NoDisks: true, NewProcesses: true,
	})
}

// untilInputEnds is ctx, which also ends with standard input.
func untilInputEnds(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin) // reading ends with the process
	}()
	return ctx
}
