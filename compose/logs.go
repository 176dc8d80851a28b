package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// LogEnds is how many bytes of a node's log are kept at either end.
const LogEnds = 1 << 20

// logLooks is how often logs that grow are looked at.
const logLooks = 100 * time.Millisecond

// KeepLogs keeps the logs in dir from filling the disk until ctx ends: what lies between their
// ends takes no room any more, where the file system can give it back. Nodes write to the files
// themselves, so that none of them waits for a reader. If it cannot be done,
// the run goes on: EndLogs makes them short in the end.
func KeepLogs(ctx context.Context, dir string) {
	t := time.NewTicker(logLooks)
	defer t.Stop()
	given := map[string]int64{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		paths, _ := logsIn(dir) // the next look finds more
		for _, path := range paths {
			info, err := os.Lstat(path)
			if err != nil || !info.Mode().IsRegular() || info.Size() < max(given[path], LogEnds)+2*LogEnds {
				continue
			}
			given[path] = info.Size() - LogEnds
			if punch(path, LogEnds, info.Size()-2*LogEnds) != nil {
				return
			}
		}
	}
}

// EndLogs makes the logs in dir short whose nodes have ended: of long ones, head and tail are
// kept, with a line between them that says how many bytes were left out.
func EndLogs(dir string) error {
	paths, err := logsIn(dir)
	errs := []error{err}
	for _, path := range paths {
		if err := shorten(path, LogEnds); err != nil {
			errs = append(errs, fmt.Errorf("shorten the log %s: %w", path, err))
		}
	}
	return errors.Join(errs...)
}

// logsIn lists the logs in a folder, whatever it is called: its name may be no pattern, or another folder's.
func logsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".log" {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, err
}

// LogLengths are how long the logs in dir are, by file.
func LogLengths(dir string) map[string]int64 {
	out := map[string]int64{}
	paths, _ := logsIn(dir) // without the folder there are none
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			out[filepath.Base(path)] = info.Size()
		}
	}
	return out
}

// CopyLogs copies what the logs in the folder from have beyond given lengths to the folder to. Of
// long ones it copies head and tail. Nodes may write on meanwhile.
func CopyLogs(from, to string, beyond map[string]int64) error {
	var errs []error
	for name, length := range LogLengths(from) {
		if length <= beyond[name] {
			continue
		}
		if err := copyLog(filepath.Join(from, name), filepath.Join(to, name), beyond[name], length); err != nil {
			errs = append(errs, fmt.Errorf("copy the log %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func copyLog(from, to string, begin, end int64) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if end-begin > 3*LogEnds {
		if _, err := io.Copy(out, io.NewSectionReader(in, begin, LogEnds)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "\npicklock: %d bytes were left out here\n", end-begin-2*LogEnds); err != nil {
			return err
		}
		begin = end - LogEnds
	}
	_, err = io.Copy(out, io.NewSectionReader(in, begin, end-begin))
	return err
}

// shorten keeps the two ends of a file, cut at the ends of lines where those are near.
func shorten(path string, ends int64) (err error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() <= 3*ends {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head, tail := make([]byte, ends), make([]byte, ends)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	if _, err := f.ReadAt(tail, info.Size()-ends); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if i := lastLine(head); i > 0 {
		head = head[:i]
	}
	tail = tail[firstLine(tail):]
	left := info.Size() - int64(len(head)) - int64(len(tail))
	text := fmt.Appendf(nil, "\npicklock: %d bytes were left out here\n", left)
	if len(head) > 0 && head[len(head)-1] == '\n' {
		text = text[1:]
	}
	end := int64(len(head))
	for _, part := range [][]byte{text, tail} {
		if _, err := f.WriteAt(part, end); err != nil {
			return err
		}
		end += int64(len(part))
	}
	return f.Truncate(end)
}

// nearEnd is how far from a cut the end of a line may be for the cut to be there.
const nearEnd = 64 << 10

// lastLine is where the last whole line of text ends; 0 where that is not near its end.
func lastLine(text []byte) int {
	for i := len(text); i > max(0, len(text)-nearEnd); i-- {
		if text[i-1] == '\n' {
			return i
		}
	}
	return 0
}

// firstLine is where the first whole line of text begins; 0 where that is not near.
func firstLine(text []byte) int {
	for i, b := range text[:min(len(text), nearEnd)] {
		if b == '\n' {
			return i + 1
		}
	}
	return 0
}
