package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/docker"
	"github.com/picklock/picklock/compose/local"
	dockerruntime "github.com/picklock/picklock/harness/docker"
	"github.com/picklock/picklock/internal/scratch"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/nemesis"
)

// finding is one line of the doctor's report.
type finding struct {
	What  string `json:"what"`
	OK    bool   `json:"ok"`
	About string `json:"about"` // what is there, or what is missing and how to get it
}

func doctorCommand() *cobra.Command {
	var asJSON bool
	var runtime string
	c := &cobra.Command{
		Use: "doctor", Short: "Say what this machine can do", Args: noArguments,
		Long: `Say which clusters can be started here and which faults can be done, and what to
install for the rest. Exit code 0 if everything works, 2 if something is missing.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var findings []finding
			var err error
			switch runtime {
			case "local":
				sandbox, code, done := local.Enter()
				if done {
					return &exitError{code, nil}
				}
				findings, err = examine(cmd.Context(), sandbox)
			case "docker":
				findings, err = examineDocker(cmd.Context())
			default:
				err = usage(suggest.Unknown("runtime", runtime, runtimes))
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(findings)
			} else {
				err = printTable("WHAT\tHERE\tNOTE", len(findings), func(i int) string {
					f := findings[i]
					return fmt.Sprintf("%s\t%s\t%s", f.What, yesNo(f.OK), f.About)
				})
			}
			if err != nil {
				return err
			}
			for _, f := range findings {
				if !f.OK {
					return &exitError{exitUnknown, nil}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&runtime, "runtime", "local", "examine this runtime: local, docker")
	return c
}

// examineDocker starts an agent on the engine and asks it what it can do.
func examineDocker(ctx context.Context) (_ []finding, err error) {
	e, err := docker.Connect(ctx)
	if err != nil {
		return []finding{{"engine", false, err.Error()}}, nil
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	findings := []finding{{"engine", true, e.String()}}
	about, cerr := e.Compose(ctx)
	if cerr != nil {
		about = cerr.Error()
	}
	findings = append(findings, finding{"compose", cerr == nil, about})
	dir, err := scratch.Make()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the own program: %w", err)
	}
	r := &dockerruntime.Runtime{Engine: e}
	c, serr := r.Start(ctx, &compose.Definition{Name: "none"}, compose.Options{Self: self, LogDir: dir.Path})
	if serr != nil {
		findings = append(findings, finding{"agent", false, serr.Error()})
	} else {
		defer func() { err = errors.Join(err, c.Close()) }()
		findings = append(findings, finding{"agent", true, "named capabilities, not privileged"})
		env := &nemesis.Env{Cluster: c, Injector: r.Injector(), Isolated: r.Isolated()}
		for _, k := range nemesis.Kinds() {
			f := finding{"fault " + k.Name, true, k.About}
			if err := k.Possible(env); err != nil {
				f.OK, f.About = false, err.Error()
			}
			findings = append(findings, f)
		}
	}
	for _, name := range compose.Names() {
		def, err := compose.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		about := "its image is here"
		if missing, err := e.Missing(ctx, def); err != nil {
			return nil, err
		} else if missing != "" {
			about = "image " + missing + " is pulled at the first run, where a registry is reached; else see scripts/images"
		}
		findings = append(findings, finding{"cluster " + name, true, about})
	}
	return findings, nil
}

func examine(ctx context.Context, sandbox *local.Sandbox) ([]finding, error) {
	space := finding{"namespaces", sandbox.Isolated, "every node has a network of its own; the kernel removes all of a run"}
	if !sandbox.Isolated {
		space.About = sandbox.Why + ": nodes are plain processes on loopback addresses"
	}
	findings := []finding{space}
	env := &nemesis.Env{Injector: nemesis.NewLocalInjector(), Isolated: sandbox.Isolated}
	for _, k := range nemesis.Kinds() {
		f := finding{"fault " + k.Name, true, k.About}
		if err := k.Possible(env); err != nil {
			f.OK, f.About = false, err.Error()
		}
		findings = append(findings, f)
	}
	for _, name := range compose.Names() {
		def, err := compose.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		f := finding{"cluster " + name, true, fmt.Sprintf("%d servers", len(def.Servers()))}
		if len(def.Servers()) == 0 {
			f.About = "no server: a directory that all clients share"
		}
		if names := def.Emulators("local"); len(names) > 0 {
			f.About += ", emulated by " + strings.Join(names, ", ")
		}
		for _, s := range def.Servers() {
			if err := s.Spec.Local.Missing(); err != nil {
				f.OK, f.About = false, err.Error()
			}
		}
		if err := sandbox.Able(def); err != nil && f.OK {
			f.OK, f.About = false, err.Error()
		}
		findings = append(findings, f)
	}
	return findings, nil
}
