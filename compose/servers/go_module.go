package servers

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
)

// goModule is a server whose Go module can be started by a few lines. The usual one is built into picklock.
type goModule struct {
	module string
	main   string // a program that takes the server's own flags
}

func (m goModule) what() string { return m.module }

func (m goModule) key() string { return m.main }

func (m goModule) tool() (program, hint string) {
	return "go", "install it from https://go.dev/doc/install"
}

func (m goModule) starts(server string, command []string) bool {
	return len(command) > 2 && command[0] == "{self}" && command[1] == "server" && command[2] == server
}

func (m goModule) instead(server, folder string, command []string) []string {
	return append([]string{filepath.Join(folder, server)}, command[3:]...)
}

func (m goModule) get(_ context.Context, server, version, folder string, run func(tool string, args ...string) error) error {
	module := []byte("module picklock.local/" + server + "\n\ngo 1.24\n")
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "go.mod"), module, 0o644), os.WriteFile(filepath.Join(folder, "main.go"), []byte(m.main), 0o644)); err != nil {
		return err
	}
	if err := run("go", "get", m.module+"@v"+version); err != nil {
		return err
	}
	return run("go", "build", "-mod", "mod", "-trimpath", "-ldflags", "-s -w", "-o", server, ".")
}

// goProgram is a server that is a program of a Go module itself.
type goProgram struct {
	module  string
	program string // its package
	version string // the variable of it that is told its version; "" for none
}

func (p goProgram) what() string { return p.module }

func (p goProgram) key() string { return p.program + "\n" + p.version }

func (p goProgram) tool() (program, hint string) { return goModule{}.tool() }

func (p goProgram) starts(_ string, command []string) bool {
	return len(command) > 0 && command[0] == path.Base(p.program)
}

func (p goProgram) instead(_, folder string, command []string) []string {
	return append([]string{filepath.Join(folder, path.Base(p.program))}, command[1:]...)
}

func (p goProgram) get(_ context.Context, server, version, folder string, run func(tool string, args ...string) error) error {
	module := []byte("module picklock.local/" + server + "\n\ngo 1.24\n")
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), module, 0o644); err != nil {
		return err
	}
	if err := run("go", "get", p.module+"@v"+version); err != nil {
		return err
	}
	flags := "-s -w"
	if p.version != "" {
		flags += " -X " + p.version + "=" + version
	}
	return run("go", "build", "-mod", "mod", "-trimpath", "-ldflags", flags, "-o", path.Base(p.program), p.program)
}
