package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Job is a hunt of one lock with one fencing mode, or the cells of one matrix. A worker keeps its
// testbed from one item of a job to the next.
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
	Scenarios []ScenarioInfo    `json:"scenarios,omitempty"` // of the cells
}

// Hunt holds the parameters of a job's hunt.
type Hunt struct {
	Faults  []string      `json:"faults"`
	Find    []string      `json:"find,omitempty"`
	Beyond  bool          `json:"beyond,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
	Depth   int           `json:"depth"`
	Sizes   []int         `json:"sizes"` // schedules without a fault, with one, and so on up to Depth
	Slice   int           `json:"slice"`
	Time    time.Duration `json:"time,omitempty"`
	Finish  time.Duration `json:"finish"`
	Replays int           `json:"replays"`
	Seed    uint64        `json:"seed"`
}

// Size is the number of schedules up to Depth.
func (h *Hunt) Size() int {
	n := 0
	for _, of := range h.Sizes {
		n += of
	}
	return n
}

// Cell is one scenario on one lock with one fencing mode.
type Cell struct {
	Scenario string `json:"scenario"` // its name
	Text     string `json:"text"`     // of its file
	Lock     string `json:"lock"`
	Fencing  string `json:"fencing"`
	Runs     int    `json:"runs"`
}

// ScenarioInfo describes a scenario.
type ScenarioInfo struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Source string `json:"source,omitempty"`
}

// The kinds of item.
const (
	Slice   = "slice"   // schedules of a hunt, by number
	Guided  = "guided"  // guided search of a hunt, for some time
	Finish  = "finish"  // shrinks the counterexamples of a hunt
	Measure = "measure" // replays one counterexample, and tries mitigations on it
	Run     = "run"     // one cell of a matrix, once
)

// Item is the work that one worker takes at a time: seconds to minutes. Its outcome does not
// depend on the worker, and a second run of it does no harm.
type Item struct {
	Job     int           `json:"job"`
	Kind    string        `json:"kind"`
	Number  int           `json:"number"`            // among those of its kind in its job
	First   int           `json:"first,omitempty"`   // of a slice: its first schedule
	End     int           `json:"end,omitempty"`     // of a slice: the schedule behind its last
	Time    time.Duration `json:"time,omitempty"`    // of a guided search
	Objects []string      `json:"objects,omitempty"` // of a finish: the portions; of a measure: the outcome of the finish
}

// ID names the item within its campaign. It is the same in each process that plans the campaign.
func (i Item) ID() string { return fmt.Sprintf("%d.%s.%d", i.Job, i.Kind, i.Number) }

// MeasuredMark names the mark that ends the replays of a job's counterexamples: their time is over.
func MeasuredMark(job int) string { return fmt.Sprintf("measured.%d", job) }

// Check refuses an item from the queue that does not fit its job.
func (i Item) Check(j Job) error {
	hunt := j.Hunt != nil
	switch {
	case i.Job != j.Number || i.Number < 0:
		return fmt.Errorf("item %s does not belong to job %d", i.ID(), j.Number)
	case i.Kind == Slice && hunt && 0 <= i.First && i.First < i.End && i.End <= j.Hunt.Size():
	case i.Kind == Guided && hunt && 0 < i.Time && i.Time <= time.Hour:
	case i.Kind == Finish && hunt && len(i.Objects) > 0:
	case i.Kind == Measure && hunt && len(i.Objects) == 1:
	case i.Kind == Run && !hunt && i.First < len(j.Cells) && 0 <= i.First:
	default:
		return fmt.Errorf("item %s does not fit job %s", i.ID(), j.Name)
	}
	return nil
}

// title is a job's name.
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

// Command is the command that runs the job's hunt on one machine.
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
		{"--max-faults", fmt.Sprint(h.Depth), false},
		{"--duration", h.Time.String(), h.Time == 0},
		{"--seed", fmt.Sprint(h.Seed), false},
	} {
		if !f.usual {
			c = append(c, f.flag, f.value)
		}
	}
	if h.Beyond {
		c = append(c, "--ignore-hazards")
	}
	return c
}
