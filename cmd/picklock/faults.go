package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/picklock/picklock/nemesis"
)

// faultGrammar is how --faults is written, for all commands.
const faultGrammar = `Commas separate the faults. Each is a kind (pause), or a kind and words that say whom it
hits and how (pause:client, clock:majority:+5s). all is every kind that the cluster can take.
none is no fault, and stands alone. In a hunt, a kind takes no words but client or server: the
hunt itself chooses the node and the moment.`

// faultsFlag adds --faults, which reads the same in every command.
func faultsFlag(f *pflag.FlagSet, to *[]string, usual ...string) {
	help := "inject these faults: all, none, or of " + strings.Join(kindNames(), ", ") + ", each alone or with words, as pause:client (see picklock list faults)"
	if len(usual) == 0 {
		help += " (default [none])"
	}
	f.StringSliceVar(to, "faults", usual, help)
}

// kindNames are the kinds of fault.
func kindNames() []string {
	var out []string
	for _, k := range nemesis.Kinds() {
		out = append(out, k.Name)
	}
	return out
}
