package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/picklock/picklock/compose"
)

// journaled is a disk that is not mounted.
type journaled struct {
	mounted
	*journal
}

func (d journaled) Freeze() (sync func() error)               { return d.freeze() }
func (d journaled) Lose(tear bool) (compose.PowerLost, error) { return d.lose(tear) }

// Two members of a group write one entry after the other to logs of their own, the second
// only what the first has written. Whenever their disks are made durable together, no entry
// is durable at the second alone.
func TestSyncAtOnce(t *testing.T) {
	first, second := newTestJournal(t), newTestJournal(t)
	s := &server{disks: map[string]mounted{"first": journaled{journal: first}, "second": journaled{journal: second}}}
	const rounds, entries = 50, 40
	for range rounds {
		logs := []*os.File{open(t, first), open(t, second)}
		half := make(chan struct{})
		written := make(chan error, 1)
		go func() {
			var err error
			for i := range entries {
				if i == entries/2 {
					close(half)
				}
				for k, j := range []*journal{first, second} {
					if _, e := j.write(logs[k], []byte{byte(i)}, int64(i)); e != nil {
						err = e
					}
				}
			}
			written <- err
		}()
		<-half
		if _, err := s.do(compose.DiskRequest{Do: "sync"}); err != nil {
			t.Fatal(err)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		var kept []int
		for k, j := range []*journal{first, second} {
			if _, err := j.lose(false); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(j.root, "log"))
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, len(text))
			if err := logs[k].Close(); err != nil {
				t.Fatal(err)
			}
			if err := j.remove("log", false); err != nil {
				t.Fatal(err)
			}
		}
		if kept[1] > kept[0] || kept[0] > kept[1]+1 || kept[0] < entries/2 {
			t.Fatalf("%d entries are durable at the first, %d at the second: not of one moment", kept[0], kept[1])
		}
	}
}

func open(t *testing.T, j *journal) *os.File {
	f, _, err := j.create("log", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
