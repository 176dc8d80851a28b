// Package modules builds the servers of lock services in versions other than the one that is built into the program,
// from their Go modules and in the user's cache. It knows where those modules are and how their servers are started,
// and neither clusters nor runs.
package modules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/built"
)

// line is a line of the table: the module of a server, in some of its versions.
type line struct {
	server   string // as the one that is built in is called (see compose/builtin)
	module   string
	versions *regexp.Regexp
	like     string // a version
	main     string // a program that takes the server's own flags
}

// recipe is a new number for each change of Build that makes older results unfit.
const recipe = 1

// The table. The first line of a server that a version fits is its.
var lines = []line{{
	server: "etcd", module: "go.etcd.io/etcd/server/v3", like: "3.5.21",
	versions: regexp.MustCompile(`^3\.([5-9]|[1-9]\d+)\.\d+(-[0-9A-Za-z.-]+)?$`),
	main: `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`,
}, {
	// The releases before 3.5 have a module whose path does not fit their numbers: only its pseudo-versions can be had.
	server: "etcd", module: "go.etcd.io/etcd", like: "0.5.0-alpha.5.0.20200910180754-dd1b699fc489",
	versions: regexp.MustCompile(`^0\.5\.0-alpha\.5\.0\.\d{14}-[0-9a-f]{12}$`),
	main: `package main

import "go.etcd.io/etcd/etcdmain"

func main() { etcdmain.Main() }
`,
}}

// Server is a server in one version.
type Server struct {
	line
	version string
}

// Names lists the servers.
func Names() []string {
	var out []string
	for _, l := range lines {
		if !slices.Contains(out, l.server) {
			out = append(out, l.server)
		}
	}
	return out
}

// Find looks a server up in a version. It does not ask whether that was published: Build does.
func Find(server, version string) (Server, error) {
	var like []string
	for _, l := range lines {
		if l.server != server {
			continue
		}
		if l.versions.MatchString(version) {
			return Server{l, version}, nil
		}
		like = append(like, l.like)
	}
	if like == nil {
		return Server{}, fmt.Errorf("picklock builds no other version of %s: it has those of %s", server, strings.Join(Names(), ", "))
	}
	return Server{}, fmt.Errorf("%q is no version of a Go module of %s: want one such as %s", version, server, strings.Join(like, " or "))
}

// folder is where it is built. Its name has a hash of all that decides what is built.
func (s Server) folder() (built.Folder, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s\n%s\n%s", recipe, s.module, s.version, s.main)
	dir, err := built.Below("servers", s.server+"@"+s.version+"-"+hex.EncodeToString(h.Sum(nil))[:12])
	return built.Folder{Path: dir, Name: "cluster " + s.server + "@" + s.version, What: "server", From: s.module + " " + s.version}, err
}

// Program is the path of the server, whether it is built or not. It takes the server's own flags.
func (s Server) Program() (string, error) {
	f, err := s.folder()
	return filepath.Join(f.Path, s.server), err
}

// Build builds the server, if that has not been done on this machine, and calls say with each step. It needs the go
// command and, for what that has not downloaded yet, the module proxy.
func (s Server) Build(ctx context.Context, say func(text string)) error {
	f, err := s.folder()
	if err != nil || f.Exists() {
		return err
	}
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("%s has to be built here, and there is no go on PATH: install it from https://go.dev/doc/install", f.Name)
	}
	return f.Build(ctx, say, func(ctx context.Context, temp string) error {
		module := []byte("module picklock.local/" + s.server + "\n\ngo 1.24\n")
		if err := errors.Join(os.WriteFile(filepath.Join(temp, "go.mod"), module, 0o644), os.WriteFile(filepath.Join(temp, "main.go"), []byte(s.main), 0o644)); err != nil {
			return err
		}
		for _, args := range [][]string{
			{"get", s.module + "@v" + s.version},
			{"build", "-mod", "mod", "-trimpath", "-ldflags", "-s -w", "-o", s.server, "."},
		} {
			say(fmt.Sprintf("%s: run go %s", f.Name, args[0]))
			if _, err := built.Run(ctx, temp, "go", args...); err != nil {
				return err
			}
		}
		return nil
	})
}
