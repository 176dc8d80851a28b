// Package fleet knows campaigns: their tasks, the items that any worker can run, and the report of
// all results. It must not know how items travel (fleet/stream does), nor how a worker runs one
// (fleet/worker does).
package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"go.yaml.in/yaml/v3"
)

// Campaign lists tasks, as a user writes them.
type Campaign struct {
	Name    string `yaml:"name"`
	Runtime string `yaml:"runtime"` // local or docker; "" for local
	Tasks   []Task `yaml:"tasks"`

	folder string // of the file; the paths of scenario files start there
}

// Task is one entry of a campaign. Exactly one of its fields is set.
type Task struct {
	Hunt   *HuntTask   `yaml:"hunt"`
	Matrix *MatrixTask `yaml:"matrix"`
	Run    *RunTask    `yaml:"run"`
}

// Locks are the locks of a task and their options.
type Locks struct {
	Locks     []string          `yaml:"locks"`
	Fencing   []string          `yaml:"fencing"`
	Options   map[string]string `yaml:"options"`   // of every lock, as --lock-option
	Abilities map[string]string `yaml:"abilities"` // of exec locks, as --ability
	Cluster   string            `yaml:"cluster"`
	// Images are the images of servers with runtime docker, by the service's name. Each image of
	// a list makes its own jobs.
	Images map[string][]string `yaml:"images"`
}

// HuntTask is a hunt of each lock with each fencing mode.
type HuntTask struct {
	Locks   `yaml:",inline"`
	Faults  []string      `yaml:"faults"` // nil: all
	Find    []string      `yaml:"find"`
	Beyond  bool          `yaml:"ignore-hazards"`
	TTL     time.Duration `yaml:"ttl"`
	Depth   *int          `yaml:"max-faults"` // all schedules with up to that many faults are run; nil: 1
	Time    time.Duration `yaml:"duration"`   // of all workers together, for each job; 0: until all schedules have run
	Finish  time.Duration `yaml:"finish"`     // for the counterexamples; 0: 5m
	Replays int           `yaml:"replays"`    // of each counterexample; 0: 20
	Slice   int           `yaml:"slice"`      // schedules in one item; 0: 200
	Seed    uint64        `yaml:"seed"`
}

// MatrixTask is scenarios on locks.
type MatrixTask struct {
	Locks     `yaml:",inline"`
	Scenarios []string `yaml:"scenarios"` // of the catalogue; nil, without files: all
	Files     []string `yaml:"files"`     // scenario files, relative to the campaign's file
	Runs      int      `yaml:"count"`
}

// RunTask is runs of clients under random faults.
type RunTask struct {
	Locks    `yaml:",inline"`
	Faults   []string      `yaml:"faults"`
	Time     time.Duration `yaml:"duration"`
	Clients  int           `yaml:"clients"`
	Keys     int           `yaml:"keys"`
	Workload string        `yaml:"workload"`
	TTL      time.Duration `yaml:"ttl"`
	Runs     int           `yaml:"count"` // each with its own seed
}

// Load reads a campaign's file.
func Load(path string) (*Campaign, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the campaign: %w", err)
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.folder = filepath.Dir(path)
	return c, nil
}

// Parse reads what Load reads from a file.
func Parse(text []byte) (*Campaign, error) {
	var c Campaign
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("not a campaign (see picklock fleet run --help): %w", err)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return &c, nil
}

var goodName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]{0,39}$`)

func (c *Campaign) check() error {
	switch {
	case !goodName.MatchString(c.Name):
		return fmt.Errorf("name %q: want letters, digits and hyphens, 40 at most", c.Name)
	case c.Runtime != "" && c.Runtime != "local" && c.Runtime != "docker":
		return fmt.Errorf("runtime %q: want local or docker", c.Runtime)
	case len(c.Tasks) == 0:
		return errors.New("there are no tasks: want hunt, matrix or run")
	}
	for i, t := range c.Tasks {
		if err := t.check(c.Runtime == "docker"); err != nil {
			return fmt.Errorf("task %d: %w", i+1, err)
		}
	}
	return nil
}

func (t Task) check(docker bool) error {
	n := 0
	var locks *Locks
	var err error
	if t.Hunt != nil {
		n, locks, err = n+1, &t.Hunt.Locks, t.Hunt.check()
	}
	if t.Matrix != nil {
		n, locks, err = n+1, &t.Matrix.Locks, nil
		if t.Matrix.Runs < 0 || t.Matrix.Runs > mostRuns {
			err = fmt.Errorf("runs %d: want 1 to %d", t.Matrix.Runs, mostRuns)
		}
	}
	if t.Run != nil {
		n, locks, err = n+1, &t.Run.Locks, t.Run.check()
	}
	switch {
	case n != 1:
		return errors.New("want one of hunt, matrix and run")
	case err != nil:
		return err
	case len(locks.Locks) == 0 && t.Matrix == nil:
		return errors.New("locks: want at least one (see picklock list locks)")
	case len(locks.Images) > 0 && !docker:
		return errors.New("images: they need runtime: docker")
	}
	return nil
}

const mostRuns = 100000

func (h *HuntTask) check() error {
	switch {
	case h.Depth != nil && (*h.Depth < 0 || *h.Depth > 2):
		return fmt.Errorf("max-faults %d: want 0, 1 or 2", *h.Depth)
	case h.Time < 0 || h.Finish < 0 || h.TTL < 0:
		return errors.New("time, finish and ttl: want none below 0")
	case h.Replays < 0 || h.Replays > 10000:
		return fmt.Errorf("replays %d: want 1 to 10000", h.Replays)
	case h.Slice < 0 || h.Slice > 100000:
		return fmt.Errorf("slice %d: want 1 to 100000", h.Slice)
	}
	return nil
}

func (r *RunTask) check() error {
	switch {
	case len(r.Faults) == 0:
		return errors.New("faults: want at least one (see picklock list faults)")
	case r.Time < 0 || r.Time > 24*time.Hour:
		return fmt.Errorf("time %v: want up to 24h", r.Time)
	case r.Runs < 0 || r.Runs > mostRuns:
		return fmt.Errorf("runs %d: want 1 to %d", r.Runs, mostRuns)
	}
	return nil
}
