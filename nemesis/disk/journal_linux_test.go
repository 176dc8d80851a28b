package disk

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/picklock/picklock/compose"
)

func newTestJournal(t interface {
	TempDir() string
	Fatal(...any)
}) *journal {
	dir := t.TempDir()
	j, err := newJournal(filepath.Join(dir, "files"), filepath.Join(dir, "trash"))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// oracle is what must be on a disk: files by name, and their content, as they are now
// and as they were when they were last synced.
type oracle struct {
	names, durableNames map[string]int
	data, durable       map[int][]byte
	next                int
}

func (o *oracle) sync(name string) {
	o.durableNames = maps.Clone(o.names)
	ino := o.names[name]
	o.durable[ino] = slices.Clone(o.data[ino])
}

func (o *oracle) lose() {
	o.names = maps.Clone(o.durableNames)
	for ino := range o.data {
		o.data[ino] = slices.Clone(o.durable[ino])
	}
}

func content(t *rapid.T, dir string) map[string][]byte {
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever is done to a disk: a reader sees it all, and a loss of power leaves exactly
// what was synced.
func TestJournalAgainstAnOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "picklock-journal")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		j, err := newJournal(filepath.Join(dir, "files"), filepath.Join(dir, "trash"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(j.path("d"), 0o755); err != nil {
			t.Fatal(err)
		}
		o := &oracle{names: map[string]int{}, durableNames: map[string]int{}, data: map[int][]byte{}, durable: map[int][]byte{}}
		name := rapid.SampledFrom([]string{"a", "b", "d/a", "d/b"})
		with := func(name string, f func(f *os.File, ino int) error) {
			ino, ok := o.names[name]
			if !ok {
				t.Skip("no such file")
			}
			file, err := os.OpenFile(j.path(name), os.O_RDWR, 0)
			if err == nil {
				err = f(file, ino)
				file.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				n := name.Draw(t, "name")
				f, made, err := j.create(n, 0o644)
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
				if _, had := o.names[n]; had == made {
					t.Fatalf("%s was made: %v", n, made)
				}
				if made {
					o.next++
					o.names[n] = o.next
				}
			},
			"write": func(t *rapid.T) {
				offset, length := rapid.IntRange(0, 3*page).Draw(t, "offset"), rapid.IntRange(1, 2*page).Draw(t, "length")
				data := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, length)
				with(name.Draw(t, "name"), func(f *os.File, ino int) error {
					old := o.data[ino]
					if end := offset + length; end > len(old) {
						old = append(old, make([]byte, end-len(old))...)
					}
					copy(old[offset:], data)
					o.data[ino] = old
					_, err := j.write(f, data, int64(offset))
					return err
				})
			},
			"truncate": func(t *rapid.T) {
				size := rapid.IntRange(0, 4*page).Draw(t, "size")
				with(name.Draw(t, "name"), func(f *os.File, ino int) error {
					o.data[ino] = append(slices.Clone(o.data[ino]), make([]byte, max(0, size-len(o.data[ino])))...)[:size]
					return j.truncate(f, int64(size))
				})
			},
			"allocate": func(t *rapid.T) {
				offset, length := rapid.IntRange(0, 5*page).Draw(t, "offset"), rapid.IntRange(1, 4*page).Draw(t, "length")
				mode := rapid.SampledFrom([]uint32{0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_KEEP_SIZE | unix.FALLOC_FL_PUNCH_HOLE}).Draw(t, "mode")
				with(name.Draw(t, "name"), func(f *os.File, ino int) error {
					now := slices.Clone(o.data[ino])
					switch end := offset + length; {
					case mode == 0 && end > len(now):
						now = append(now, make([]byte, end-len(now))...)
					case mode&unix.FALLOC_FL_PUNCH_HOLE != 0 && offset < len(now):
						clear(now[offset:min(end, len(now))])
					}
					o.data[ino] = now
					return j.allocate(f, int64(offset), int64(length), mode)
				})
			},
			"remove": func(t *rapid.T) {
				n := name.Draw(t, "name")
				_, had := o.names[n]
				if err := j.remove(n, false); (err == nil) != had {
					t.Fatal(n, err)
				}
				delete(o.names, n)
			},
			"rename": func(t *rapid.T) {
				from, to := name.Draw(t, "from"), name.Draw(t, "to")
				ino, had := o.names[from]
				if err := j.rename(from, to, false); (err == nil) != had {
					t.Fatal(from, to, err)
				}
				if had && o.names[to] != ino {
					delete(o.names, from)
					o.names[to] = ino
				}
			},
			"link": func(t *rapid.T) {
				from, to := name.Draw(t, "from"), name.Draw(t, "to")
				err := j.add(to, func(path string) error { return os.Link(j.path(from), path) })
				if _, taken := o.names[to]; (err == nil) != (o.names[from] != 0 && !taken) {
					t.Fatal(from, to, err)
				}
				if err == nil {
					o.names[to] = o.names[from]
				}
			},
			"sync": func(t *rapid.T) {
				n := name.Draw(t, "name")
				with(n, func(f *os.File, _ int) error {
					o.sync(n)
					return j.sync(f)
				})
			},
			"lose": func(t *rapid.T) {
				if _, err := j.lose(false); err != nil {
					t.Fatal(err)
				}
				o.lose()
				if p := j.pending(); p != (compose.PowerLost{}) {
					t.Fatalf("still not synced: %+v", p)
				}
			},
			"": func(t *rapid.T) {
				got := content(t, j.root)
				for n, ino := range o.names {
					if g, ok := got[n]; !ok || !bytes.Equal(g, o.data[ino]) {
						t.Fatalf("%s: there %v, %d bytes, want %d", n, ok, len(g), len(o.data[ino]))
					}
				}
				if len(got) != len(o.names) {
					t.Fatalf("files %v, want %v", slices.Collect(maps.Keys(got)), o.names)
				}
			},
		})
	})
}

func TestTear(t *testing.T) {
	write := func(f *os.File, j *journal, text string, at int64) {
		t.Helper()
		if _, err := j.write(f, []byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	j := newTestJournal(t)
	f, _, err := j.create("log", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(f, j, "durable.", 0)
	if err := j.sync(f); err != nil {
		t.Fatal(err)
	}
	write(f, j, strings.Repeat("first unsynced,", 100), 8)
	write(f, j, "second", 1508)
	lost, err := j.lose(true)
	if err != nil || lost.Torn != 504 || lost.Bytes != 1506 || lost.Files != 1 {
		t.Errorf("lost %+v, %v", lost, err)
	}
	if got, _ := os.ReadFile(j.path("log")); string(got) != "durable."+strings.Repeat("first unsynced,", 100)[:504] {
		t.Errorf("left is %q", got)
	}
	// What was left is on the disk: the next loss takes none of it.
	if lost, err = j.lose(true); err != nil || lost != (compose.PowerLost{}) {
		t.Errorf("lost %+v, %v", lost, err)
	}
}

// Of a large hole nothing is copied as it is cut off and allocated anew, and what is written there is lost.
func TestHole(t *testing.T) {
	j := newTestJournal(t)
	f, _, err := j.create("log", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 64 << 20
	write := func(text string, at int64) error { _, err := j.write(f, []byte(text), at); return err }
	sync := func() error { return j.sync(f) }
	for i, step := range []func() error{
		func() error { return write("begin", 0) },
		func() error { return j.allocate(f, 0, size, 0) },
		sync,
		func() error { return j.truncate(f, 5) },
		func() error { return j.allocate(f, 0, size, 0) },
		func() error { return write("unsynced", 2*page+100) },
	} {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	ino, err := inode(f)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(j.files[ino].pages); n > 3 {
		t.Errorf("%d pages are kept", n)
	}
	if _, err := j.lose(false); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(j.path("log"))
	if want := append([]byte("begin"), make([]byte, size-5)...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %q are left, %v", len(got), bytes.Trim(got, "\x00"), err)
	}
}

// A file that has lost one of its names for good keeps its durable content under the other.
func TestOneNameOfTwo(t *testing.T) {
	j := newTestJournal(t)
	f, _, err := j.create("a", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	link := func() error {
		return j.add("b", func(path string) error { return os.Link(j.path("a"), path) })
	}
	unsynced := func() error { _, err := j.write(f, []byte("UNSYNCED"), 0); return err }
	if _, err := j.write(f, []byte("durable"), 0); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{link, func() error { return j.sync(f) }, unsynced, func() error { return j.remove("a", false) }, func() error { return j.sync(nil) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.lose(false); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(j.path("b")); string(got) != "durable" {
		t.Errorf("left is %q, %v", got, err)
	}
}

func TestPart(t *testing.T) {
	for e, want := range map[extent]int64{
		{0, 2}: 0, {0, 512}: 0, {0, 513}: 512, {100, 412}: 0, {100, 413}: 412, {510, 4}: 2,
		{0, 3000}: 1024, {512, 3000}: 1024, {1, 1 << 20}: 1<<19 - 1,
	} {
		if got := e.part(); got != want {
			t.Errorf("of %+v are left %d, want %d", e, got, want)
		}
	}
}

// What cannot be removed is refused as a file system refuses it, and nothing changes.
func TestRefusals(t *testing.T) {
	j := newTestJournal(t)
	for _, d := range []string{"d", "e"} {
		if err := j.add(d, func(path string) error { return os.Mkdir(path, 0o755) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"f", "d/f"} {
		f, _, err := j.create(n, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	before := j.pending()
	tests := map[string]struct {
		do   func() error
		want syscall.Errno
	}{
		"a folder with something in it": {func() error { return j.remove("d", true) }, syscall.ENOTEMPTY},
		"a file as a folder":            {func() error { return j.remove("f", true) }, syscall.ENOTDIR},
		"a folder as a file":            {func() error { return j.remove("e", false) }, syscall.EISDIR},
		"over a full folder":            {func() error { return j.rename("e", "d", false) }, syscall.ENOTEMPTY},
		"over a file":                   {func() error { return j.rename("e", "f", false) }, syscall.ENOTDIR},
		"over a name to be kept":        {func() error { return j.rename("f", "d/f", true) }, syscall.EEXIST},
		"what is not there":             {func() error { return j.rename("g", "f", false) }, syscall.ENOENT},
	}
	for name, tt := range tests {
		if err := tt.do(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if after := j.pending(); after != before {
		t.Errorf("changes %+v, before %+v", after, before)
	}
}
