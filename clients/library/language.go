package library

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	golang "github.com/picklock/picklock/clients/go"
	"github.com/picklock/picklock/clients/java"
	"github.com/picklock/picklock/clients/node"
	"github.com/picklock/picklock/clients/python"
	"github.com/picklock/picklock/clients/rust"
	"github.com/picklock/picklock/internal/format"
)

// language is how the programs of a language are built and started.
type language struct {
	name    string
	recipe  int // a new number for each change of build that makes older results unfit
	sources fs.FS
	shared  []string                 // patterns of the files that all its programs have
	own     func(p program) []string // and those of one
	apart   bool                     // each program of a folder is built by itself
	tools   []tool
	build   func(ctx context.Context, b *building) error
	// published reads which versions of a library there are, from the registry if it is not asked by a tool of its own.
	published func(ctx context.Context, registry, library string) ([]string, error)
	registry  string
	command   func(p program, dir string) (string, error)
	cold      time.Duration // see clients.Library
	// archive, if there is one, uses what clients have told to make later ones start sooner.
	archive func(ctx context.Context, dir string) (made bool, err error)
}

// tool is a program that a build needs, and how it is installed.
type tool struct{ program, install string }

// missing returns an error that names the tools that are not on PATH.
func (p program) missing() error {
	var names, how []string
	for _, t := range slices.Concat(p.language.tools, p.tools) {
		if _, err := exec.LookPath(t.program); err != nil {
			names, how = append(names, t.program), append(how, t.install)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s is the lock of a library in %s, whose client has to be built here: missing on PATH: %s. Install: %s", p.lock, p.language.name, strings.Join(names, ", "), strings.Join(how, "; "))
}

// The languages.
var (
	javaLanguage = &language{
		name: "Java", recipe: 5, apart: true, sources: java.Sources, shared: []string{"pom.xml", "adapter/*.java"},
		own:   func(p program) []string { return []string{p.folder + "/pom.xml", p.folder + "/*.java"} },
		tools: []tool{{"mvn", "apt install maven"}, {"javac", "apt install default-jdk-headless"}, {"java", "apt install default-jre-headless"}},
		build: buildJava, published: publishedMaven, registry: mavenCentral,
		command: startJava, archive: archiveJava, cold: time.Second,
	}
	pythonLanguage = &language{
		name: "Python", recipe: 3, sources: python.Sources, shared: []string{"picklock.py"},
		own: func(p program) []string {
			return []string{p.program + ".py", "requirements/" + p.folder + ".txt"}
		},
		tools: []tool{{"python3", "apt install python3 python3-pip"}},
		build: buildPython, published: publishedPython,
		command: func(p program, dir string) (string, error) {
			interpreter, err := os.ReadFile(filepath.Join(dir, interpreterFile))
			if err != nil {
				return "", err
			}
			// Neither PYTHONPATH nor the user's own packages: only what was built.
			return shell(p, string(interpreter), "-E", "-s", filepath.Join(dir, p.program+".py")), nil
		},
	}
	nodeLanguage = &language{
		name: "Node", recipe: 1, sources: node.Sources, shared: []string{"adapter.mjs"},
		own: func(p program) []string {
			return []string{p.folder + "/package.json", p.folder + "/package-lock.json", p.folder + "/*.mjs"}
		},
		tools: []tool{{"node", "apt install nodejs"}, {"npm", "apt install npm"}},
		build: buildNode, published: publishedNode,
		command: func(p program, dir string) (string, error) {
			return shell(p, "node", filepath.Join(dir, p.folder, p.program+".mjs")), nil
		},
	}
	goLanguage = &language{
		name: "Go", recipe: 1, sources: golang.Sources, shared: []string{"adapter/*.go", "etcdlock/*.go"},
		own: func(p program) []string {
			return []string{p.folder + "/go.mod.tmpl", p.folder + "/go.sum", p.folder + "/main.go"}
		},
		tools: []tool{{"go", "https://go.dev/doc/install, or apt install golang where that is new enough"}},
		build: buildGo, published: publishedGo,
		command: func(p program, dir string) (string, error) {
			return shell(p, filepath.Join(dir, "client")), nil
		},
	}
	rustLanguage = &language{
		name: "Rust", recipe: 1, sources: rust.Sources, shared: []string{"adapter/Cargo.toml", "adapter/src/*.rs"},
		own: func(p program) []string {
			return []string{p.folder + "/Cargo.toml", p.folder + "/Cargo.lock", p.folder + "/src/*.rs"}
		},
		tools: []tool{{"cargo", "https://rustup.rs, or apt install cargo where that is new enough"}, {"cc", "apt install gcc"}},
		build: buildRust, published: publishedCrate, registry: cratesIndex,
		command: func(p program, dir string) (string, error) {
			return shell(p, filepath.Join(dir, "client")), nil
		},
	}
)

// shell is the command line of a program, with the word that chooses its lock.
func shell(p program, words ...string) string {
	if p.variant != "" {
		words = append(words, p.variant)
	}
	return format.Shell(words...)
}
