package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a run in Jepsen's store.
const (
	storeHistory = "history.edn"
	storeText    = "history.txt"
	storeResults = "results.edn"
)

// StoredHistory is the history of the run that Jepsen has stored in dir, the one with more
// in it first; false where there is none.
func StoredHistory(dir string) (path string, ok bool) {
	for _, name := range []string{storeHistory, storeHistory + ".gz", storeText, storeText + ".gz"} {
		path := filepath.Join(dir, name)
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// StoredResults is what Jepsen itself says of the run in dir; nil where it says nothing.
func StoredResults(dir string) (*Results, error) {
	f, err := os.Open(filepath.Join(dir, storeResults))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a run that was cut off has none
	}
	if err != nil {
		return nil, fmt.Errorf("read Jepsen's results: %w", err)
	}
	defer f.Close()
	return ReadResults(f, f.Name())
}
