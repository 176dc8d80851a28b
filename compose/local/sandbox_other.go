//go:build !linux

package local

import (
	"errors"
	"os/exec"
	"syscall"
)

// Enter returns a sandbox of plain processes: there are no namespaces here.
func Enter() (sandbox *Sandbox, code int, done bool) {
	return &Sandbox{Why: "network namespaces need Linux"}, 0, false
}

// ExitCode is code: there is no outer process here.
func ExitCode(code int) int { return code }

type network struct{}

var errNoNamespaces = errors.New("network namespaces need Linux")

func newNetwork(string) (*network, error)   { return nil, errNoNamespaces }
func (*network) add(string) (string, error) { return "", errNoNamespaces }
func (*network) path(string) string         { return "" }
func (*network) close() error               { return nil }
func mountData(string) error                { return errNoNamespaces }
func unmountData(string) error              { return nil }

type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(cmd *exec.Cmd, _ string) (func() error, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Wait, cmd.Start()
}

func (*spawner) close() {}
