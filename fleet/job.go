package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Job is work on one lock with one discipline, or the cells of one matrix. A worker that does
// several items of one job keeps its servers up between them.
type Job struct {
	Number    int               `json:"number"` // from 0
	Name      string            `json:"name"`
	Lock      string            `json:"lock,omitempty"` // of a hunt
	Fencing   string            `json:"fencing,omitempty"`
	Options   map[string]string `json:"options,omitempty"`
	Abilities map[string]string `json:"abilities,omitempty"`
	Cluster   string            `json:"cluster,omitempty"`
	Images    map[string]string `json:"images,omitempty"`
	Runtime   string            `json:"runtime"`
	Hunt      *Hunt             `json:"hunt,omitempty"`
	Cells     []Cell            `json:"cells,omitempty"`
	Played    []Played          `json:"played,omitempty"` // what the cells' scenarios are about
}

// Hunt is what a job's hunt is to do.
type Hunt struct {
	Faults []string      `json:"faults"`
	Find   []string      `json:"find,omitempty"`
	Beyond bool          `json:"beyond,omitempty"`
	TTL    time.Duration `json:"ttl,omitempty"`
	Depth  int           `json:"depth"`
	Size   int           `json:"size"` // places that the space has
	Slice  int           `json:"slice"`
	Time   time.Duration `json:"time,omitempty"`
	Finish time.Duration `json:"finish"`
	Plays  int           `json:"replays"`
	Seed   uint64        `json:"seed"`
}

// Cell is one scenario on one lock with one discipline.
type Cell struct {
	Scenario string `json:"scenario"` // its name
	Text     string `json:"text"`     // the file
	Lock     string `json:"lock"`
	Fencing  string `json:"fencing"`
	Runs     int    `json:"runs"`
}

// Played says what a scenario is about.
type Played struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Source string `json:"source,omitempty"`
}

// The kinds of item.
const (
	Slice   = "slice"   // of a hunt's space
	Guided  = "guided"  // some time of a hunt's guided search
	Finish  = "finish"  // what a hunt found is made small
	Measure = "measure" // one way is played alone, and what might help is tried on it
	Run     = "run"     // one cell of a matrix, once
)

// Item is what one worker does at a time: some seconds to minutes of work. It is the same
// whoever does it, and doing it twice does no harm.
type Item struct {
	Job     int           `json:"job"`
	Kind    string        `json:"kind"`
	Number  int           `json:"number"`            // among those of its kind in its job
	First   int           `json:"first,omitempty"`   // of a slice: its first place
	End     int           `json:"end,omitempty"`     // and the one behind its last
	Time    time.Duration `json:"time,omitempty"`    // of a guided search
	Objects []string      `json:"objects,omitempty"` // of a finish: the portions; of a measure: what came of the finish
}

// ID names the item within its campaign. It is the same in each process that plans it.
func (i Item) ID() string { return fmt.Sprintf("%d.%s.%d", i.Job, i.Kind, i.Number) }

// MeasuredMark is set when the time for what a job's hunt found is over: what is left is not
// measured.
func MeasuredMark(job int) string { return fmt.Sprintf("measured.%d", job) }

// Check says what cannot be of an item that came over a network.
func (i Item) Check(j Job) error {
	hunt := j.Hunt != nil
	switch {
	case i.Job != j.Number || i.Number < 0:
		return fmt.Errorf("item %s is not of job %d", i.ID(), j.Number)
	case i.Kind == Slice && hunt && 0 <= i.First && i.First < i.End && i.End <= j.Hunt.Size:
	case i.Kind == Guided && hunt && 0 < i.Time && i.Time <= time.Hour:
	case i.Kind == Finish && hunt && len(i.Objects) > 0:
	case i.Kind == Measure && hunt && len(i.Objects) == 1:
	case i.Kind == Run && !hunt && i.First < len(j.Cells) && 0 <= i.First:
	default:
		return fmt.Errorf("item %s makes no sense for the job %s", i.ID(), j.Name)
	}
	return nil
}

// title names a job for people.
func title(kind, lock, fencing string, images map[string]string) string {
	words := []string{kind, lock, fencing}
	for _, service := range slices.Sorted(maps.Keys(images)) {
		words = append(words, images[service])
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// KindOf is the kind of the item with an ID.
func KindOf(id string) string {
	_, rest, _ := strings.Cut(id, ".")
	kind, _, _ := strings.Cut(rest, ".")
	return kind
}

// Command is how the job's hunt is made on one machine.
func (j Job) Command() []string {
	h := j.Hunt
	c := []string{"picklock", "hunt", "--lock", j.Lock}
	for _, name := range slices.Sorted(maps.Keys(j.Options)) {
		c = append(c, "--lock-option", name+"="+j.Options[name])
	}
	for _, name := range slices.Sorted(maps.Keys(j.Abilities)) {
		c = append(c, "--ability", name+"="+j.Abilities[name])
	}
	for _, f := range []struct {
		flag, value string
		usual       bool
	}{
		{"--cluster", j.Cluster, j.Cluster == ""},
		{"--fencing", j.Fencing, j.Fencing == "none"},
		{"--faults", strings.Join(h.Faults, ","), slices.Equal(h.Faults, []string{"all"})},
		{"--find", strings.Join(h.Find, ","), len(h.Find) == 0},
		{"--runtime", j.Runtime, j.Runtime == "local"},
		{"--ttl", h.TTL.String(), h.TTL == 0},
		{"--depth", fmt.Sprint(h.Depth), false},
		{"--time", h.Time.String(), h.Time == 0},
		{"--seed", fmt.Sprint(h.Seed), false},
	} {
		if !f.usual {
			c = append(c, f.flag, f.value)
		}
	}
	if h.Beyond {
		c = append(c, "--beyond-leases")
	}
	return c
}
