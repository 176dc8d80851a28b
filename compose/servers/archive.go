package servers

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
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

// largestArchive bounds what is taken out of a jar, in bytes.
const largestArchive = 256 << 20

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
	if err := a.take(jars[0], packed); err != nil {
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

// take writes the one packed archive that a jar has.
func (a archive) take(jar, to string) error {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if path.Ext(f.Name) != ".txz" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return errors.Join(err, in.Close())
		}
		n, err := io.Copy(out, io.LimitReader(in, largestArchive+1))
		if err = errors.Join(err, in.Close(), out.Close()); err == nil && n > largestArchive {
			err = fmt.Errorf("%s has over %d bytes", f.Name, largestArchive)
		}
		return err
	}
	return errors.New("it has no packed server (.txz)")
}
