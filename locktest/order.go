package locktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/results"
)

// The environment variable by which a started test binary knows that it is a part of
// an experiment: the path of its order.
const orderEnv = "PICKLOCK_LOCKTEST"

// loopback keeps a started test binary in this machine's network: in one of its own it
// would not reach servers that run already.
const loopback = "PICKLOCK_LAB=loopback"

// order tells a started test binary what to be.
type order struct {
	Test string `json:"test"` // whose call of Run or Hunt
	Call int    `json:"call"` // which one
	// Node: it runs what its arguments say on a node of a cluster; else it runs the
	// scenario.
	Node bool `json:"node,omitempty"`

	Scenario string   `json:"scenario"`
	About    string   `json:"about"`
	Text     string   `json:"text,omitempty"` // of its file; "" for a run without a script
	Faults   []string `json:"faults,omitempty"`
	Fencing  string   `json:"fencing"`
	// Known: the test says what must break. Else what the scenario says of locks that
	// the catalogue does not know is expected.
	Known bool     `json:"known,omitempty"`
	Must  []string `json:"must,omitempty"`

	Cluster  string            `json:"cluster,omitempty"`
	Servers  []string          `json:"servers,omitempty"`
	TTL      time.Duration     `json:"ttl,omitempty"`
	Limit    time.Duration     `json:"limit,omitempty"`
	Seed     uint64            `json:"seed"`
	Confirms bool              `json:"confirms,omitempty"`
	Extra    map[string]string `json:"extra,omitempty"`

	Out     string `json:"out"`
	Program string `json:"program,omitempty"` // stands for picklock: see writeProgram
	Result  string `json:"result,omitempty"`  // where a results.Cell goes
}

// lockName is what the lock is called in the reports.
func (o order) lockName() string { return "test:" + o.Test }

// flags let a test binary do nothing but this test.
func (o order) flags() []string {
	elements := strings.Split(o.Test, "/")
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	return []string{"-test.run=" + strings.Join(elements, "/"), "-test.count=1", "-test.timeout=0", "-test.parallel=1"}
}

// again is the command that runs the test again.
func (o order) again() []string {
	return []string{"go", "test", "-run", o.flags()[0][len("-test.run="):]}
}

// missed says that a started test binary did not get as far as this order's call.
func (o order) missed() string {
	return fmt.Sprintf("the test ended before it came to call %d of locktest.Run or locktest.Hunt", o.Call+1)
}

// came is the file, beside the program, by which a testbed shows that it got there.
func came(program string) string { return program + ".came" }

// write writes the order to a file.
func (o order) write(path string) error {
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// inProcess has the order carried out by a process of its own, which in turn may move
// into namespaces, and returns its result.
func inProcess(ctx context.Context, x order) (c results.Cell, err error) {
	self, err := os.Executable()
	if err != nil {
		return c, fmt.Errorf("find the test binary: %w", err)
	}
	// Beside the reports: what is started there reads it for as long as it runs.
	files, err := os.MkdirTemp("", "picklock-locktest-")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(files)
	if x.Program, err = writeProgram(files, self, x); err != nil {
		return c, fmt.Errorf("prepare: %w", err)
	}
	x.Result = filepath.Join(files, "result.json")
	path := filepath.Join(files, "order.json")
	if err := x.write(path); err != nil {
		return c, fmt.Errorf("prepare: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, x.flags()...)
	scratch, err := scratchDir(files)
	if err != nil {
		return c, err
	}
	cmd.Env = append(os.Environ(), orderEnv+"="+path, "TMPDIR="+scratch)
	if len(x.Servers) > 0 {
		cmd.Env = append(cmd.Env, loopback)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	// It ends when this is closed, which happens however we end.
	stop, err := cmd.StdinPipe()
	if err != nil {
		return c, err
	}
	defer stop.Close()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	runErr := cmd.Run()
	text, err := os.ReadFile(x.Result)
	if err != nil {
		if runErr == nil {
			runErr = errors.New(x.missed())
		}
		return c, fmt.Errorf("run %s: %w\n%s", x.Scenario, runErr, strings.TrimSpace(said.String()))
	}
	var r outcome
	if err := json.Unmarshal(text, &r); err != nil {
		return c, fmt.Errorf("run %s: read the result: %w", x.Scenario, err)
	}
	if r.Error != "" {
		return c, fmt.Errorf("run %s: %w", x.Scenario, errors.New(r.Error))
	}
	return r.Cell, nil
}

// outcome is a result, or why there is none.
type outcome struct {
	Cell  results.Cell `json:"cell"`
	Error string       `json:"error,omitempty"`
}

// writeProgram writes what the harness starts on the nodes instead of picklock: this
// test binary with the order to come to this call of Run or Hunt and to do there what its arguments
// say.
func writeProgram(dir, self string, x order) (string, error) {
	program := filepath.Join(dir, "node")
	x.Node, x.Program = true, program
	path := filepath.Join(dir, "node.json")
	if err := x.write(path); err != nil {
		return "", err
	}
	scratch, err := scratchDir(dir)
	if err != nil {
		return "", err
	}
	words := []string{"#!/bin/sh\n" + orderEnv + "=" + format.Shell(path), "TMPDIR=" + format.Shell(scratch)}
	if len(x.Servers) > 0 {
		words = append(words, loopback)
	}
	words = append(words, "exec", format.Shell(self))
	for _, f := range x.flags() {
		words = append(words, format.Shell(f))
	}
	script := strings.Join(words, " ") + ` -- "$@"` + "\n"
	return program, os.WriteFile(program, []byte(script), 0o700)
}

// scratchDir is where a started test binary has its temporary folder: it comes to no end at
// which its test would clean up, and we do.
func scratchDir(dir string) (string, error) {
	scratch := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return "", fmt.Errorf("prepare: %w", err)
	}
	return scratch, nil
}
