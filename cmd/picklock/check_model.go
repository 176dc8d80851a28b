package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/model"
)

// check judges another tool's history.
func (flags checkFlags) check(ctx context.Context, h *model.History, of func() (*model.Model, error)) error {
	if flags.model != "" {
		if _, err := model.Named(flags.model); err != nil {
			return usage(fmt.Errorf("check: %w", err))
		}
	}
	if len(h.Ops) == 0 {
		why := emptyHistory
		if h.Events > 0 {
			why = "every operation failed: there is nothing to judge"
		}
		return flags.nothing(h.File, why, checker.Verdict{
			Why: why, Anomalies: []checker.Anomaly{},
			Properties: map[string]checker.Property{model.Linearizable: {Required: true, Why: why}},
		})
	}
	m, err := of()
	if err != nil {
		return usage(fmt.Errorf("check: %w", err))
	}
	v, err := model.Check(ctx, h, m, model.Options{Progress: teller("objects checked")})
	if errors.Is(err, model.ErrUnfit) {
		return usage(fmt.Errorf("check: %w", err))
	}
	if err != nil {
		return err
	}
	written := ""
	if flags.out != "" {
		if written, err = flags.writeModel(h, m, v); err != nil {
			return err
		}
	}
	compared := flags.compare(v)
	if flags.json {
		if err := printJSON(compared.with(v)); err != nil {
			return fmt.Errorf("print the verdict: %w", err)
		}
	} else {
		printModel(h, m, v)
		compared.print(m)
		if written != "" {
			fmt.Printf("  report: %s\n", printable(written))
		}
	}
	switch v.Valid {
	case checker.True:
		return nil
	case checker.False:
		return &exitError{exitInvalid, nil}
	}
	return &exitError{exitUnknown, nil}
}

func printModel(h *model.History, m *model.Model, v checker.Verdict) {
	says := map[checker.Validity]string{checker.True: "linearizable", checker.False: "NOT linearizable", checker.Unknown: "unknown"}
	fmt.Printf("%s: %s as %s\n  %s\n", printable(h.File), says[v.Valid], m.Name, printable(v.Properties[model.Linearizable].Why))
	for i, a := range v.Anomalies {
		if i == 5 {
			fmt.Printf("  and %d more, in --json\n", len(v.Anomalies)-i)
			break
		}
		on := ""
		if a.Key != "" {
			on = " on " + a.Key
		}
		fmt.Printf("  %s%s: %s\n", a.Name, printable(on), printable(a.Explanation))
	}
}

// printable keeps what a file says from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
