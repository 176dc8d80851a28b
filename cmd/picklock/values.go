package main

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/model"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// The values that flags take, from the packages' tables: for --help and for the
// shell's completion.

// runtimes are where nodes can run.
var runtimes = []string{"local", "docker"}

// value is one that a flag takes, and what it is.
type value struct{ name, about string }

// values are what each flag takes, by the flag's name. A flag of the same name takes
// the same everywhere.
var values = map[string]func() []value{
	"lock": lockValues, "locks": lockValues,
	"cluster":  clusterValues,
	"fencing":  fencingValues,
	"register": registerValues,
	"workload": workloadValues,
	"require":  propertyValues,
	"runtime":  func() []value { return bare(runtimes) },
	"lang":     func() []value { return bare(slices.Sorted(maps.Keys(languages))) },
	"model":    func() []value { return bare(model.Names()) },
}

func bare(names []string) []value {
	out := make([]value, len(names))
	for i, n := range names {
		out[i] = value{name: n}
	}
	return out
}

func lockValues() []value {
	var out []value
	for _, l := range lockTable.All() {
		out = append(out, value{l.Name, l.About})
	}
	return append(out, value{"exec:", "a program of your own"})
}

func clusterValues() []value { return append(bare(compose.Names()), value{"none", "no server"}) }

func fencingValues() []value {
	var out []value
	for _, d := range register.FencingModes() {
		out = append(out, value{d.Name, d.About})
	}
	return out
}

func registerValues() []value {
	var out []value
	for _, b := range backends {
		out = append(out, value{b.Name, b.About})
	}
	return out
}

func workloadValues() []value {
	var out []value
	for _, w := range workloads.All() {
		out = append(out, value{w.Name, w.About})
	}
	return out
}

func scenarioValues() []value {
	all, err := scenarios.All()
	if err != nil {
		return nil // the catalogue is built in, and has been parsed by its tests
	}
	var out []value
	for _, s := range all {
		out = append(out, value{s.Name, s.About})
	}
	return out
}

// propertyValues are those that a run does not require anyway.
func propertyValues() []value {
	return []value{{checker.Belief, "no two clients believe at once that they hold the lock"}}
}

// listed names a flag's values in a sentence of --help.
func listed(values []value) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.name
	}
	return strings.Join(names, ", ")
}

const lockListType = "locks"

// lockList is a flag of several locks: separated by commas, or given again. A command behind
// exec: may contain commas, so that it is one value.
type lockList []string

// String implements pflag.Value.
func (l *lockList) String() string { return strings.Join(*l, ",") }

// Type implements pflag.Value.
func (l *lockList) Type() string { return lockListType }

// Set implements pflag.Value.
func (l *lockList) Set(text string) error {
	if strings.HasPrefix(text, clients.ExecPrefix) {
		*l = append(*l, text)
		return nil
	}
	first, command, found := strings.Cut(text, ","+clients.ExecPrefix)
	*l = append(*l, strings.Split(first, ",")...)
	if found {
		*l = append(*l, clients.ExecPrefix+command)
	}
	return nil
}

const (
	fencingHelp  = "how the register uses fencing tokens: "
	registerHelp = "what the protected register is made of: "
)

// completeValues has the shell complete the values of all flags below c.
func completeValues(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		var complete cobra.CompletionFunc
		switch list := values[f.Name]; {
		case f.Name == "faults":
			complete = completeFaults
		case list != nil:
			complete = func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				if t := f.Value.Type(); t == "stringSlice" || t == lockListType {
					return completeList(typed, list())
				}
				return offer("", typed, list()), files(f.Name)
			}
		default:
			return
		}
		// It fails for a flag that there is not, or twice: neither is possible here.
		_ = c.RegisterFlagCompletionFunc(f.Name, complete)
	})
	for _, sub := range c.Commands() {
		completeValues(sub)
	}
}

// files says whether a path would do as well as the values.
func files(flag string) cobra.ShellCompDirective {
	if flag == "cluster" {
		return cobra.ShellCompDirectiveDefault
	}
	return cobra.ShellCompDirectiveNoFileComp
}

// offer lists the values that go on from what was typed, each behind prefix.
func offer(prefix, typed string, list []value) []cobra.Completion {
	var out []cobra.Completion
	for _, v := range list {
		if strings.HasPrefix(v.name, typed) {
			out = append(out, cobra.CompletionWithDesc(prefix+v.name, v.about))
		}
	}
	return out
}

// completeList completes the last of several values that commas separate; none twice.
func completeList(typed string, list []value) ([]cobra.Completion, cobra.ShellCompDirective) {
	i := strings.LastIndexByte(typed, ',') + 1
	before := strings.Split(typed[:i], ",")
	left := slices.DeleteFunc(slices.Clone(list), func(v value) bool { return slices.Contains(before, v.name) })
	return offer(typed[:i], typed[i:], left), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFaults completes the last of several faults, and the words behind its colons.
func completeFaults(c *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	at := strings.LastIndexByte(typed, ',') + 1
	last := typed[at:]
	colon := strings.LastIndexByte(last, ':')
	if colon < 0 {
		var kinds []value
		for _, k := range nemesis.Kinds() {
			kinds = append(kinds, value{k.Name, k.About})
		}
		return offer(typed[:at], last, kinds), directive
	}
	words := strings.Split(last[:colon], ":")
	next := bare(faultWords(words[0], words[1:], nodeNames(c.Context(), c)))
	return offer(typed[:at]+last[:colon+1], last[colon+1:], next), directive
}

var wordGroup = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*)\]`) })

// faultWords are those that may follow a fault and the words behind it that are there
// already, by the fault's own usage.
func faultWords(kind string, there, nodes []string) []string {
	i := slices.IndexFunc(nemesis.Kinds(), func(k nemesis.Kind) bool { return k.Name == kind })
	if i < 0 {
		return nil
	}
	var out []string
	groups := wordGroup().FindAllStringSubmatch(nemesis.Kinds()[i].Usage, -1)
	for _, g := range groups[min(len(there), len(groups)):] {
		for _, w := range strings.Split(g[1], "|") {
			switch w = strings.TrimPrefix(w, ":"); w {
			case "NODE":
				out = append(out, nodes...)
			case "+DURATION", "-DURATION": // nobody can guess it
			default:
				out = append(out, w)
			}
		}
	}
	return slices.DeleteFunc(append(out, "held"), func(w string) bool { return slices.Contains(there, w) })
}

// nodeNames are the servers of the cluster that the flags name so far.
func nodeNames(ctx context.Context, c *cobra.Command) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	name := ""
	if f := c.Flag("cluster"); f != nil {
		name = f.Value.String()
	}
	if f := c.Flag("lock"); f != nil && name == "" {
		if info, err := lockTable.Lookup(f.Value.String()); err == nil {
			name = info.Cluster
		}
	}
	def, err := compose.Load(ctx, name)
	if err != nil {
		return nil // what it is will be said when it is run
	}
	var out []string
	for _, s := range def.Servers() {
		out = append(out, s.Name)
	}
	return out
}

// completeScenarios completes names of scenarios, each once, and files.
func completeScenarios(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	left := slices.DeleteFunc(scenarioValues(), func(v value) bool { return slices.Contains(args, v.name) })
	return offer("", typed, left), cobra.ShellCompDirectiveDefault
}

// completeScenario completes a command's one argument.
func completeScenario(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offer("", typed, scenarioValues()), cobra.ShellCompDirectiveNoFileComp
}
