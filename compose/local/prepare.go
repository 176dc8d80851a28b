package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/built"
)

// prepare puts into dir, which is empty, what x-picklock.local.prepare makes of an empty data directory. That is made once on
// this machine and copied: for each run, and through a disk of picklock's own, it takes a database far longer than to start.
func (n *node) prepare(ctx context.Context, dir string) error {
	l := n.svc.Spec.Local
	if len(l.Prepare) == 0 {
		return nil
	}
	if p := placeholder.FindString(strings.Join(l.Prepare, " ")); p != "" {
		return fmt.Errorf("x-picklock.local.prepare has %s: what it makes is kept for all nodes and runs, so it cannot depend on one", p)
	}
	made, err := prepared(n.svc.Title(), l)
	if err != nil {
		return err
	}
	err = made.Build(ctx, func(string) {}, func(ctx context.Context, temp string) error { return runPrepare(ctx, l, temp) })
	if err != nil {
		return err
	}
	return copyTree(made.Path, dir)
}

// prepared is where the outcome of l.Prepare is kept: a folder whose name has a hash of all that decides it.
func prepared(title string, l *compose.Local) (built.Folder, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %q", l.Prepare, l.User, l.Folders())
	for _, need := range l.Needs {
		path := need.File
		if need.Program != "" {
			var err error
			if path, err = l.Find(need.Program); err != nil {
				return built.Folder{}, err
			}
		}
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			return built.Folder{}, err
		}
		fi, err := os.Stat(path)
		if err != nil {
			return built.Folder{}, err
		}
		fmt.Fprintf(h, " %q %d %d", path, fi.Size(), fi.ModTime().UnixNano()) // another version of it is another outcome
	}
	path, err := built.Below("prepared", title+"-"+hex.EncodeToString(h.Sum(nil))[:12])
	return built.Folder{Path: path, Name: title, What: "data directory", From: "x-picklock.local.prepare"}, err
}

// runPrepare runs l.Prepare in a folder.
func runPrepare(ctx context.Context, l *compose.Local, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, compose.ReadyWithin)
	defer cancel()
	args := append([]string(nil), l.Prepare...)
	if path, err := l.Find(args[0]); err == nil { // else starting it fails and says so
		args[0] = path
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), searchPath(l))
	asUser(cmd, l.User)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what it has started, too
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), err, built.LastLines(string(out)))
	}
	return nil
}

// copyTree copies the files and folders below from, with their permissions, which a database insists on.
func copyTree(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, path)
		switch {
		case d.IsDir():
			return os.Mkdir(target, fi.Mode().Perm())
		case !d.Type().IsRegular():
			return fmt.Errorf("copy %s: it is neither a file nor a folder", path)
		}
		content, err := root.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, fi.Mode().Perm())
	})
}
