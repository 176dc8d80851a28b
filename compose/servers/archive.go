package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// archive is a server whose whole tree of files is in a packed archive (.txz) within a jar of Maven's repositories: one jar
// for each kind of machine.
type archive struct {
	group, name string
	machines    map[string]string // by GOOS/GOARCH, the end of the jar's name
	program     string            // below bin, as a script starts it
	without     string            // the scripts that call this program need more than the archive has
}

func (a archive) what() string { return a.group + ":" + a.name + "-" + a.machine() }

func (a archive) key() string { return a.program }

func (a archive) tool() (program, hint string) {
	return "mvn", "install Maven (Debian: apt-get install maven)"
}

// machine is this machine's, or what no jar has if none is made for it: its download fails with that name.
func (a archive) machine() string {
	kind := runtime.GOOS + "/" + runtime.GOARCH
	if m, ok := a.machines[kind]; ok {
		return m
	}
	return strings.ReplaceAll(kind, "/", "-")
}

func (a archive) starts(_ string, command []string) bool {
	return len(command) == 3 && command[0] == "sh" && strings.Contains(command[2], "exec "+a.program+" ") && !strings.Contains(command[2], a.without)
}

// instead has the script find the archive's programs first.
func (a archive) instead(_, folder string, command []string) []string {
	bin := "'" + strings.ReplaceAll(filepath.Join(folder, "bin"), "'", `'\''`) + "'"
	return []string{command[0], command[1], "PATH=" + bin + `:"$PATH"` + "\n" + command[2]}
}

func (a archive) get(_ context.Context, _, version, folder string, run func(tool string, args ...string) error) error {
	if strings.Count(version, ".") == 1 {
		version += ".0" // the repository has 18.0.0 for what Postgres calls 18.0
	}
	if err := run("mvn", "-q", "-B", "dependency:copy", "-Dartifact="+a.what()+":"+version, "-DoutputDirectory="+folder); err != nil {
		return err
	}
	jars, err := filepath.Glob(filepath.Join(folder, "*.jar"))
	if err != nil || len(jars) != 1 {
		return errors.Join(err, fmt.Errorf("%s %s: want one jar, have %d", a.what(), version, len(jars)))
	}
	packed := filepath.Join(folder, "server.txz")
	if err := unzip(jars[0], "*.txz", packed, 0o644); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(jars[0]), err)
	}
	if err := run("tar", "-xJf", packed, "-C", folder); err != nil {
		return fmt.Errorf("unpack it, which takes tar and xz (Debian: apt-get install xz-utils): %w", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "bin", a.program)); err != nil {
		return fmt.Errorf("%s %s has no %s: %w", a.what(), version, a.program, err)
	}
	return errors.Join(os.Remove(jars[0]), os.Remove(packed))
}
