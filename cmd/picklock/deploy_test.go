package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Every file to deploy with parses, and what it runs is a command that there is.
func TestDeployedCommandsExist(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../../docs/deploy", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yml") && !strings.HasSuffix(path, ".yaml") {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		calls, err := deployed(string(text))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, line := range calls {
			if err := understood(newRoot(), line); err != nil {
				t.Errorf("%s: %s: %v", path, line, err)
			}
		}
		// Values of a chart, and campaigns, run nothing.
		if len(calls) == 0 && filepath.Base(path) != "nats-values.yaml" && path != "../../docs/deploy/campaign.yaml" {
			t.Errorf("%s: no call of picklock was found", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 8 {
		t.Errorf("only %d files were found", files)
	}
}

// The check sees what it is there to see.
func TestDeployedCommandsAreSeen(t *testing.T) {
	for text, want := range map[string]string{
		"a: {image: picklock/picklock:debian, command: [fleet, worker, --queue, x]}":                   "fleet 'worker' '--queue' 'x'",
		"---\nx: 1\n---\nc: [{image: picklock/picklock:debian, args: [merge, a]}]":                     "merge 'a'",
		"s: [{uses: picklock/picklock@main, with: {args: scenario run --all --out a}}]":                "scenario run --all --out a",
		"x: {script: [make, picklock merge a && picklock lock describe b]}":                            "merge a |lock describe b",
		"x: {image: nats, command: [serve]}":                                                           "",
		"x: {image: \"${PICKLOCK_IMAGE:-picklock/picklock:debian}\", command: [fleet, worker, --n 1]}": "fleet 'worker' '--n 1'",
	} {
		got, err := deployed(text)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := deployed("a: [b"); err == nil {
		t.Error("what is no YAML passes")
	}
}

var ourImage = regexp.MustCompile(`^(\$\{PICKLOCK_IMAGE:-)?picklock/picklock[:@]`)

// deployed lists the calls of picklock in a file of YAML documents, without the program's name:
// what containers of its image run, what its action runs, and what shells do.
func deployed(text string) ([]string, error) {
	var out []string
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document any
		if err := d.Decode(&document); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("parse: %w", err)
		}
		callsBelow(document, &out)
	}
}

func callsBelow(node any, out *[]string) {
	switch n := node.(type) {
	case []any:
		for _, below := range n {
			callsBelow(below, out)
		}
	case string:
		*out = append(*out, commandLines("```\n"+n)...)
	case map[string]any:
		image, _ := n["image"].(string)
		uses, _ := n["uses"].(string)
		if with, _ := n["with"].(map[string]any); strings.HasPrefix(uses, "picklock/picklock@") {
			args, _ := with["args"].(string)
			*out = append(*out, args)
		}
		for key, below := range n {
			if list, ok := below.([]any); ok && ourImage.MatchString(image) && (key == "command" || key == "args") && len(list) > 0 {
				*out = append(*out, quoted(list))
				continue
			}
			callsBelow(below, out)
		}
	}
}

// quoted is a list of arguments as a shell would be told them; the command stays bare.
func quoted(list []any) string {
	line := fmt.Sprint(list[0])
	for _, arg := range list[1:] {
		line += fmt.Sprintf(" '%v'", arg)
	}
	return line
}
