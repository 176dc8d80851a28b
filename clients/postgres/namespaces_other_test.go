//go:build !linux

package postgres

import "os/exec"

// inNamespaces leaves cmd as it is: a killed server's own processes end by themselves.
func inNamespaces(*exec.Cmd) {}
