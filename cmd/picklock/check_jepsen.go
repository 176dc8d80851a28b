package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/model"
	"github.com/picklock/picklock/history"
)

// stored judges a run as Jepsen stores it, and says how what Jepsen found compares.
func (flags checkFlags) stored(ctx context.Context, dir, path string) error {
	if len(flags.columns) > 0 {
		return usage(fmt.Errorf("check: --map is for a CSV file or a trace, and %s is a run of Jepsen's", dir))
	}
	if flags.skew > 0 {
		return usage(fmt.Errorf("check: --skew is for histories with times: Jepsen's order is that of %s, whatever its clocks", path))
	}
	f, err := history.Source{Path: path}.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := model.Read(f, path)
	if errors.Is(err, model.ErrOwnFormat) {
		return fmt.Errorf("check: %s is no history of Jepsen's: name the file alone if it is one of picklock's", path)
	}
	if err != nil {
		return err
	}
	if flags.jepsen, err = model.StoredResults(dir); err != nil { // ours is worth no less without
		fmt.Fprintf(os.Stderr, "picklock: nothing to compare with: %s\n", printable(err.Error()))
	}
	return flags.check(ctx, h, flags.modelOf(h))
}

// comparison is what Jepsen says of the same history; nil where nothing is known of it.
type comparison struct{ *model.Comparison }

func (flags checkFlags) compare(v checker.Verdict) comparison {
	if flags.jepsen == nil {
		return comparison{}
	}
	c := flags.jepsen.Compare(v)
	return comparison{&c}
}

// with is a verdict as JSON has it, with the comparison if there is one.
func (c comparison) with(v checker.Verdict) any {
	if c.Comparison == nil {
		return v
	}
	return struct {
		checker.Verdict
		Jepsen *model.Comparison `json:"jepsen"`
	}{v, c.Comparison}
}

func (c comparison) print(m *model.Model) {
	if c.Comparison == nil {
		return
	}
	says := map[checker.Validity]string{
		checker.True: "picklock agrees", checker.False: "picklock and Jepsen DIFFER", checker.Unknown: "nothing that both have decided",
	}
	fmt.Printf("  Jepsen's results.edn says valid? %s: %s\n", c.Jepsen, says[c.Agrees])
	for _, one := range c.Checkers {
		what := "not judged here: it looks at something other than the order of the operations"
		switch {
		case one.Judged && one.Agrees == checker.True:
			what = "linearizable: agrees, as " + m.Name
		case one.Judged && one.Agrees == checker.False:
			what = "linearizable: DIFFERS from picklock's verdict as " + m.Name + ": Jepsen does not say by which model: try others with --model"
		case one.Judged:
			what = "linearizable: one of the two has not decided"
		}
		fmt.Printf("    %s %s: %s\n", printable(one.Name), one.Valid, what)
	}
}
