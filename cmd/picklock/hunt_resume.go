package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	huntreport "github.com/picklock/picklock/hunt/report"
)

// freely are the flags that a hunt which goes on may have otherwise than before: they do not
// change what is searched.
var freely = []string{"duration", "finish", "jobs", "replays", "fail-fast", "json"}

// takeUp gives a hunt that goes on the flags that it was begun with. What the user says
// otherwise now is refused where another lock, or another space, would be searched.
func takeUp(cmd *cobra.Command, folder string) error {
	began, err := huntreport.Command(folder)
	if err != nil {
		return usage(err)
	}
	if len(began) < 2 {
		return usage(fmt.Errorf("--resume %s: %s holds no command line", folder, huntreport.CommandFile))
	}
	before := huntCommand()
	before.InitDefaultHelpFlag()
	if err := before.ParseFlags(began[2:]); err != nil {
		return usage(fmt.Errorf("--resume %s was begun by another version of picklock: %w", folder, err))
	}
	now := cmd.Flags()
	var wrong error
	differs := func(fl *pflag.Flag) {
		had := before.Flags().Lookup(fl.Name)
		if wrong == nil && had != nil && fl.Name != "resume" && !slices.Contains(freely, fl.Name) && had.Value.String() != fl.Value.String() {
			wrong = usage(fmt.Errorf("--resume %s goes on with a hunt with --%s %s: leave out --%s, or begin a new one", folder, fl.Name, had.Value, fl.Name))
		}
	}
	now.Visit(differs)
	if wrong != nil {
		return wrong
	}
	before.Flags().Visit(func(fl *pflag.Flag) {
		if wrong != nil || now.Changed(fl.Name) {
			return
		}
		if l, ok := fl.Value.(pflag.SliceValue); ok {
			wrong = now.Lookup(fl.Name).Value.(pflag.SliceValue).Replace(l.GetSlice())
		} else {
			wrong = now.Lookup(fl.Name).Value.Set(fl.Value.String())
		}
		now.Lookup(fl.Name).Changed = true
	})
	if wrong != nil {
		return fmt.Errorf("take the flags of %s: %w", folder, wrong)
	}
	return nil
}
