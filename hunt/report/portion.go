package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/internal/shard"
)

// PortionFile is, in the folder of a hunt with --shard, what it takes to put the shards
// together.
const PortionFile = "portion.json"

// Portion is one shard's part of a hunt.
type Portion struct {
	Shard   shard.Shard  `json:"shard"`
	Portion hunt.Portion `json:"portion"`
}

// WritePortion keeps what a shard came to.
func (d *Dir) WritePortion(s shard.Shard, p hunt.Portion) error {
	b, err := json.Marshal(Portion{s, p})
	if err == nil {
		err = os.WriteFile(filepath.Join(d.path, PortionFile), b, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", PortionFile, err)
	}
	return nil
}

// ReadPortion reads what WritePortion wrote into a folder.
func ReadPortion(folder string) (Portion, error) {
	var p Portion
	path := filepath.Join(folder, PortionFile)
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read %s: %w", path, err)
	}
	for _, w := range p.Portion.Result.Counterexamples {
		if err := checkFound(w); err != nil {
			return p, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return p, nil
}

// checkFound is the error that a counterexample of a file is none.
func checkFound(w *hunt.Counterexample) error {
	if w == nil {
		return errors.New("a counterexample that is null")
	}
	for _, r := range append([]hunt.Mitigation{{Rate: w.Search}, {Rate: w.Alone}}, slices.Concat(w.Without, w.Mitigations)...) {
		if n := r.Rate; n.Hits < 0 || n.Runs < n.Hits || n.Missed < 0 || n.Missed > n.Runs || n.Discarded < 0 {
			return fmt.Errorf("%s: a rate that cannot be: %d of %d", w.Signature, n.Hits, n.Runs)
		}
	}
	for _, v := range w.Variants {
		if err := checkFound(v); err != nil {
			return err
		}
	}
	return nil
}
