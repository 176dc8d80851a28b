package builtin

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsReadyWithin is how long the server may take until it accepts connections.
const natsReadyWithin = 30 * time.Second

// natsServer serves NATS with JetStream, as it comes unless it is told otherwise: it writes to its files before it answers,
// and syncs them every two minutes.
func natsServer(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("nats", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:4222", "address to listen on")
	dir := flags.String("data-dir", "", "where JetStream keeps its streams")
	always := flags.Bool("sync-always", false, "sync every write before it is answered")
	version := flags.Bool("version", false, "print the server's version")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("server nats: %w", err)
	}
	if *version {
		fmt.Printf("nats-server %s\n", server.VERSION)
		return nil
	}
	host, port, err := net.SplitHostPort(*listen)
	if err != nil {
		return fmt.Errorf("server nats: %w", err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("server nats: port %q: %w", port, err)
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: n, JetStream: true, StoreDir: *dir, SyncAlways: *always, NoSigs: true})
	if err != nil {
		return fmt.Errorf("server nats: %w", err)
	}
	s.ConfigureLogger()
	go s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(natsReadyWithin) {
		return errors.New("server nats: it did not start to listen")
	}
	<-ctx.Done()
	return nil
}
