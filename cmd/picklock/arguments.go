package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/internal/suggest"
)

// What is wrong with a command line in itself, whatever the command.

// noArguments refuses arguments that are no flags; where there are commands below,
// they are commands that there are not.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasAvailableSubCommands() {
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return usage(fmt.Errorf("unknown command %q%s (see %s --help)", args[0], suggest.Word(args[0], names), cmd.CommandPath()))
	}
	guess := ""
	if _, err := lockTable.Lookup(args[0]); err == nil && cmd.Flags().Lookup("lock") != nil {
		guess = ": did you mean --lock " + args[0] + "?"
	}
	return usage(fmt.Errorf("%s takes no argument %q%s (see %s --help)", commandName(cmd), args[0], guess, cmd.CommandPath()))
}

// helpCommand is cobra's, but it refuses a command that there is not, where cobra prints the root's help
// and succeeds.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		ValidArgsFunction: func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			cmd, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []cobra.Completion
			for _, sub := range cmd.Commands() {
				if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), typed) {
					out = append(out, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			cmd, rest, err := c.Root().Find(args)
			switch {
			case err != nil:
				return usage(err)
			case len(rest) > 0 && cmd.HasAvailableSubCommands():
				return noArguments(cmd, rest)
			case len(rest) > 0:
				return usage(fmt.Errorf("%s has no command %q (see %s --help)", commandName(cmd), rest[0], cmd.CommandPath()))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// oneArgument wants one argument, and says what it is.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return wrongArguments(cmd, what, args)
	}
}

// wrongArguments says which arguments a command wants instead of those that it got.
func wrongArguments(cmd *cobra.Command, what string, args []string) error {
	got := "nothing"
	if len(args) > 0 {
		got = fmt.Sprintf("%q", strings.Join(args, " "))
	}
	return usage(fmt.Errorf("%s wants %s, and got %s (see %s --help)", commandName(cmd), what, got, cmd.CommandPath()))
}

func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), "picklock ")
}

// wrongFlag says which flag was meant by one that there is not, and what a value has to look like.
func wrongFlag(c *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) && len(missing.GetSpecifiedName()) > 1 {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		_, argument, _ := strings.Cut(c.Use, " ")
		if strings.HasPrefix(c.CommandPath(), "picklock lock ") && strings.Contains(argument, "NAME") && missing.GetSpecifiedName() == "lock" { // a flag of other commands
			err = fmt.Errorf("%w: the lock is an argument here: %s %s", err, c.CommandPath(), argument)
		} else {
			err = fmt.Errorf("%w%s", err, suggest.Word("--"+missing.GetSpecifiedName(), names))
		}
	}
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) && wrong.GetFlag() != nil {
		err = wrongValue(wrong)
	}
	return usage(fmt.Errorf("%w (see %s --help)", err, c.CommandPath()))
}

// forms are what the value of a flag has to be, by the flag's type.
var forms = map[string]string{
	"duration": "no length of time: want one like 500ms, 30s or 2m",
	"int":      "no whole number",
	"uint64":   "no whole number from 0 on",
	"float64":  "no number: want one like 2 or 0.5",
	"bool":     "neither true nor false",
}

func wrongValue(wrong *pflag.InvalidValueError) error {
	name, value := wrong.GetFlag().Name, wrong.GetValue()
	if form, ok := forms[wrong.GetFlag().Value.Type()]; ok {
		return fmt.Errorf("--%s %q is %s", name, value, form)
	}
	return fmt.Errorf("--%s: %w", name, errors.Unwrap(wrong))
}

// notEmpty refuses a flag whose value is empty, as that of a variable which was never set: what
// follows would be something else than was asked for.
func notEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = len(list.GetSlice()) == 0
		}
		switch f.Value.Type() {
		case "string", "stringSlice", "stringArray", lockListType:
			if empty && err == nil {
				err = usage(fmt.Errorf("--%s is empty: give it a value, or leave it out (see %s --help)", f.Name, cmd.CommandPath()))
			}
		}
	})
	return err
}

// oneLock refuses several locks where one is tested.
func oneLock(name string) error {
	if strings.Contains(name, ",") && !strings.HasPrefix(name, clients.ExecPrefix) {
		return fmt.Errorf("--lock %s: one lock is tested at a time: name one of them (picklock scenario run and fleet run take several)", name)
	}
	return nil
}
