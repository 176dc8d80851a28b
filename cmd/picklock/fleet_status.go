package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	fleetstatus "github.com/picklock/picklock/fleet/status"
	"github.com/picklock/picklock/fleet/stream"
)

// fleetStatusFlags say which campaign is shown, and how.
type fleetStatusFlags struct {
	queue  queueFlags
	asJSON bool
}

func fleetStatusCommand() *cobra.Command {
	var f fleetStatusFlags
	c := &cobra.Command{
		Use: "status [ID]", Short: "Show the progress of campaigns on a queue",
		Long: `Show a campaign on a queue: its jobs, the items done of all, dead-lettered items, the
counterexamples found, and the workers. Without an ID, the campaigns that run are shown, or
the newest one if none runs. Nothing on the queue is changed.

A campaign that runs on one machine has no queue that others reach. Its page is campaign.html
in its --out folder.`,
		Example: `  picklock fleet status --queue nats://queue.example:4222
  picklock fleet status nightly-1a2b3c4d --queue nats://queue.example:4222
  picklock fleet status --queue nats://queue.example:4222 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), os.Stdout, args)
		},
	}
	f.queue.add(c)
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the status as JSON")
	return c
}

// statusWithin is how long the queue may take to answer.
const statusWithin = time.Minute

func (f *fleetStatusFlags) run(ctx context.Context, w io.Writer, args []string) error {
	id := ""
	switch {
	case len(args) > 1:
		return usage(fmt.Errorf("fleet status shows one campaign, and %d were given: leave the ID out to see all that run", len(args)))
	case f.queue.url == "":
		return usage(errors.New("say which queue: --queue nats://HOST:PORT (without a queue, open campaign.html in the campaign's --out folder)"))
	case len(args) == 1:
		id = args[0]
	}
	if err := f.queue.check(); err != nil {
		return usage(err)
	}
	q, err := f.queue.connect(ctx, "status", stream.Reader, nil)
	if err != nil {
		if ctx.Err() != nil {
			return nil // the user ended it
		}
		return err
	}
	defer q.Close()
	bounded, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	found, err := fleetstatus.ReadQueue(bounded, q, id)
	switch {
	case errors.Is(err, fleetstatus.ErrNoCampaign):
		return usage(fmt.Errorf("campaign %q: %w (leave the ID out to see those that there are)", id, err))
	case err != nil && ctx.Err() != nil:
		return nil // the user ended it
	case err != nil:
		return fmt.Errorf("read the queue: %w", err)
	}
	if f.asJSON {
		return printJSON(found)
	}
	return found.Write(w)
}
