package harness

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/scenarios"
)

// TestSettle: what is found out once the clients have opened an exec lock.
func TestSettle(t *testing.T) {
	tests := map[string]struct {
		options  func(*Options)
		declared clients.Abilities
		workload string
		err      string
	}{
		"nothing declared":    {workload: "register"},
		"fenced":              {options: func(o *Options) { o.Fencing = "read-write" }, declared: clients.Abilities{Tokens: true}, workload: "register"},
		"no tokens":           {options: func(o *Options) { o.Fencing = "write" }, err: "declares no tokens"},
		"semaphore":           {declared: clients.Abilities{Kind: clients.Semaphore, Permits: 2}, workload: "acquire-only"},
		"semaphore, asked":    {options: func(o *Options) { o.Workload = "register" }, declared: clients.Abilities{Kind: clients.Semaphore, Permits: 2}, err: "is a semaphore"},
		"semaphore, fenced":   {options: func(o *Options) { o.Fencing = "write" }, declared: clients.Abilities{Tokens: true, Kind: clients.Semaphore, Permits: 2}, err: "use --fencing none"},
		"renews":              {options: func(o *Options) { o.Renew = true }, declared: clients.Abilities{Renew: true}, workload: "register"},
		"does not renew":      {options: func(o *Options) { o.Renew = true }, err: `without "\"renew\":true"`},
		"a workload, readers": {options: func(o *Options) { o.Workload = "acquire-only" }, declared: clients.Abilities{Kind: clients.ReadWrite}, workload: "acquire-only"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := Defaults()
			o.Lock, o.Workload = "exec:true", ""
			o.Locks, o.Backends = all.Locks(), all.Backends()
			if tc.options != nil {
				tc.options(&o)
			}
			p, err := o.plan()
			if err != nil {
				t.Fatal(err)
			}
			err = p.settle(map[string]*clients.Abilities{"c1": &tc.declared, "c2": &tc.declared})
			switch {
			case tc.err == "" && err != nil:
				t.Fatal(err)
			case tc.err != "" && (err == nil || !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("%v, want a usage error with %q", err, tc.err)
			case tc.err == "" && p.Workload != tc.workload:
				t.Errorf("workload %s, want %s", p.Workload, tc.workload)
			}
		})
	}
	o := Defaults()
	o.Lock = "exec:true"
	o.Locks, o.Backends = all.Locks(), all.Backends()
	p, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	err = p.settle(map[string]*clients.Abilities{"c1": {Tokens: true}, "c2": {}})
	if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "same lock") {
		t.Errorf("two locks at once: %v", err)
	}
	o.Fencing = "sequencer"
	if err := o.Check(); err == nil || !strings.Contains(err.Error(), "cannot be asked") {
		t.Errorf("an exec lock that is asked: %v", err)
	}
}

// TestCellsOfExec: without a word of the user's, the fenced cells are run of a lock that
// is known to have tokens.
func TestCellsOfExec(t *testing.T) {
	s, err := scenarios.Lookup("pause-holder")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		fencing  []string
		declared map[string]clients.Abilities
		want     []string
	}{
		"unknown":    {want: []string{"none"}},
		"asked for":  {fencing: []string{"read-write"}, want: []string{"read-write"}},
		"no tokens":  {declared: map[string]clients.Abilities{"exec:true": {}}, want: []string{"none"}},
		"has tokens": {declared: map[string]clients.Abilities{"exec:true": {Tokens: true}}, want: []string{"none", "write", "read-write"}},
	} {
		cells, err := MatrixOptions{Table: all.Locks(), Scenarios: []*scenarios.Scenario{s}, Locks: []string{"exec:true"}, Fencing: tc.fencing, Declared: tc.declared}.Cells()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range cells {
			got = append(got, c.Fencing)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: cells with %v, want %v", name, got, tc.want)
		}
	}
}
