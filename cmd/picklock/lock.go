package main

import "github.com/spf13/cobra"

func lockCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "lock", Short: "Set up a lock of your own: write, check or describe its adapter",
		Long: `Set up a lock of your own. Its adapter is a program, in any language, that takes requests as
JSON lines (docs/reference/exec.md).`,
		Example: `  picklock lock init mylock
  picklock lock check 'python3 mylock/lock.py' --cluster mylock/compose.yml
  picklock lock describe --lock 'exec:python3 mylock/lock.py' --cluster mylock/compose.yml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(lockInitCommand(), lockCheckCommand(), lockDescribeCommand())
	return c
}
