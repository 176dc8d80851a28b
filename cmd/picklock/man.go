package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/picklock/picklock/harness"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual's pages",
		Long: `Write a page of the manual for each command into DIR, which is made if it is missing.
What a release hands out has them already, beside the completion for shells.`,
		Example: `  picklock man ~/.local/share/man/man1
  picklock completion bash > ~/.local/share/bash-completion/completions/picklock`,
		Args: oneArgument("the folder that the pages go to"),
		RunE: func(cmd *cobra.Command, args []string) error { return writeManual(cmd.Root(), args[0]) },
	}
}

func writeManual(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the manual's pages: %w", err)
	}
	// Without it each page would end in the day on which it was written.
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "picklock " + harness.Version(), Manual: "picklock", Date: committed()}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return fmt.Errorf("write the manual's pages: %w", err)
	}
	return nil
}

// committed is when the program's source was committed, so that the same source gives the
// same pages; nil where that is not known.
func committed() *time.Time {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, s := range info.Settings {
		if s.Key != "vcs.time" {
			continue
		}
		if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
			return &t
		}
	}
	return nil
}
