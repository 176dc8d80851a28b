package main

import "github.com/spf13/cobra"

func lockCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "lock", Short: "Set up a lock of your own or of a library: write, check, describe or build its client",
		Long: `Set up a lock of your own. Its client is a program, in any language, that takes requests as
JSON lines (docs/reference/exec.md). The clients of libraries' locks (docs/guides/libraries.md) are
such programs, too.`,
		Example: `  picklock lock init mylock
  picklock lock check 'python3 mylock/lock.py' --cluster mylock/compose.yml
  picklock lock describe --lock 'exec:python3 mylock/lock.py' --cluster mylock/compose.yml
  picklock lock build redisson
  picklock lock check redisson`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(lockInitCommand(), lockCheckCommand(), lockDescribeCommand(), lockBuildCommand())
	return c
}
