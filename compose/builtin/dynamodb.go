package builtin

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"time"
)

// minidyn is the module that emulates DynamoDB.
const minidyn = "github.com/truora/minidyn"

// dynamoDB serves an emulation of DynamoDB's HTTP interface, by minidyn. The service
// itself runs at Amazon only: what a lock does against this says how the lock uses
// conditional writes, not how DynamoDB keeps them.
func dynamoDB(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dynamodb", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8000", "address to listen on")
	dir := flags.String("data-dir", "", "where the log of writes is kept; empty: nothing is kept")
	version := flags.Bool("version", false, "print what emulates DynamoDB")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("server dynamodb: %w", err)
	}
	if *version {
		fmt.Printf("%s %s (an emulator of DynamoDB)\n", minidyn, moduleVersion(minidyn))
		return nil
	}
	path := ""
	if *dir != "" {
		path = filepath.Join(*dir, "writes.jsonl")
	}
	e, err := newEmulator(path)
	if err != nil {
		return fmt.Errorf("server dynamodb: %w", err)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return errors.Join(fmt.Errorf("server dynamodb: %w", err), e.close())
	}
	srv := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err = <-served:
	case err = <-e.failed:
	case <-ctx.Done():
	}
	return errors.Join(err, srv.Close(), e.close())
}

func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "of unknown version"
}

// answer is a reply that is written down before it is sent.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}, code: http.StatusOK} }

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
