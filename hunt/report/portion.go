package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

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
		if w == nil {
			return p, fmt.Errorf("read %s: a counterexample that is null", path)
		}
	}
	return p, nil
}
