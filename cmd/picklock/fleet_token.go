package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/fleet/stream"
)

func fleetTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use: "token worker|reader", Short: "Print a token with fewer rights",
		Long: `Print the token of a role on the queue that picklock fleet run --serve makes. It is made from
the secret in ` + tokenVariable + `, or in the file that ` + tokenFileVariable + ` names.
Workers with their token take items and give results, but submit no campaign. Readers with
theirs see campaigns, results and workers, and change nothing. The secret has all rights.`,
		Example: `  picklock fleet token worker                                     # on the coordinator's machine
  PICKLOCK_QUEUE_TOKEN=picklock-worker-... picklock fleet worker --queue tls://coordinator.example:4222`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != string(stream.Worker) && args[0] != string(stream.Reader) {
				return usage(errors.New("say for which role: picklock fleet token worker, or picklock fleet token reader"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			secret, err := queueToken()
			if err != nil {
				return usage(err)
			}
			if secret == "" {
				return usage(fmt.Errorf("there is no secret to make a token from: set %s, or %s", tokenVariable, tokenFileVariable))
			}
			if r := stream.RoleOf(secret); r != stream.Coordinator {
				return usage(fmt.Errorf("%s is the token of a %s already: it must be the secret of the coordinator", tokenVariable, r))
			}
			_, err = fmt.Fprintln(os.Stdout, stream.Role(args[0]).Token(secret))
			if err != nil {
				return fmt.Errorf("print the token: %w", err)
			}
			return nil
		},
	}
}
