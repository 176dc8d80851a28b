package locktest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// The environment variable by which a started test binary knows that it is a part of
// an experiment: the path of its order.
const orderEnv = "PICKLOCK_LOCKTEST"

// loopback keeps a started test binary in this machine's network: in one of its own it
// would not reach servers that run already.
const loopback = "PICKLOCK_LAB=loopback"

// order tells a started test binary which lock it is a part of the experiment of: it runs what its
// arguments say.
type order struct {
	Test     string   `json:"test"` // whose call of Run or Hunt
	Call     int      `json:"call"` // which one
	Fencing  string   `json:"fencing"`
	Cluster  string   `json:"cluster"`
	Servers  []string `json:"servers,omitempty"`
	Confirms bool     `json:"confirms,omitempty"`
	Program  string   `json:"program"` // stands for picklock: see writeProgram
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

// ownFlags are the flags that the user has given and that are the tests' own: what opens the lock may read them.
func ownFlags() []string {
	var out []string
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			out = append(out, "-"+f.Name+"="+f.Value.String())
		}
	})
	return out
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

// writeProgram writes what the harness starts on the nodes instead of picklock: this
// test binary with the order to come to this call of Run or Hunt and to do there what its arguments
// say.
func writeProgram(dir, self string, x order) (string, error) {
	program := filepath.Join(dir, "node")
	x.Program = program
	path := filepath.Join(dir, "node.json")
	text, err := json.MarshalIndent(x, "", "  ")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
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
	for _, f := range append(x.flags(), ownFlags()...) {
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
