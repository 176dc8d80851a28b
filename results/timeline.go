package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
)

// timeline is what a run looks like on a time axis: the same shapes feed the
// static picture and the interactive one. All times are ns since the run's
// start. It is drawn from the events alone and judges nothing.
type timeline struct {
	Start, End int64
	Tracks     []track
	Holds      []hold
	Waits      []wait
	Marks      []mark
	Bands      []band
	Keys       []string
	Anomalies  []scene
	Times      []int64 // of every anomaly, also those without a scene

	testbedOf map[string]int
	holdOf    map[string]int // by grant
	byIndex   map[int64]int  // event index -> place in events
	bySeq     map[int64]int  // sequence number -> place in effects
}

type track struct {
	Name, Role, Addr string
}

const (
	roleClient   = "client"
	roleServer   = "server"
	roleRegister = "register"
)

// endKind is how a hold ended.
type endKind string

const (
	heldOpen     endKind = "open"     // it never ended in this history
	heldReleased endKind = "released" // the client gave it back
	heldLost     endKind = "lost"     // the client learnt of the loss
	heldKilled   endKind = "killed"   // the client died
)

// hold is the time in which a client believed that it held the lock.
type hold struct {
	Track    int
	From, To int64 // acquire's ok; release's invoke, lost, or death
	Since    int64 // the lease began at the earliest here
	Lease    int64 // the lease certainly lasted until here; -1: none promised
	Ended    endKind
	Grant    string
	Token    int64
	Key      int
	Index    int64 // of the acquire's ok
}

// wait is the time in which a client was asking for the lock.
type wait struct {
	Track    int
	From, To int64
	Result   history.Type
	Key      int
	Hold     int // -1: not granted
}

// markKind is what a mark stands for.
type markKind string

const (
	markRead     markKind = "read"     // a client's read, answered
	markAccepted markKind = "accepted" // a client's write or add, acknowledged
	markRejected markKind = "rejected" // refused by the register
	markUnknown  markKind = "unknown"  // outcome never learnt
	markFailed   markKind = "failed"   // failed on the way: certainly not carried out
	markLost     markKind = "lost"     // the client learnt that its grant is gone
	markEffect   markKind = "effect"   // the register carried out a write or add
	markRefused  markKind = "refused"  // the register refused one
)

// mark is one instant on a track.
type mark struct {
	Track    int
	From, At int64 // invoke and completion; equal for instants
	Kind     markKind
	Hold     int // -1: none known
	Process  string
	F        string
	Value    string
	Error    string
	Token    int64
	Index    int64 // event index, or sequence number on the register's track
	Key      int
}

// band is one injection of a fault.
type band struct {
	Name      string
	From, To  int64
	Tracks    []int // all tracks where empty
	Confirmed bool
	Healed    bool // its end was seen
	Detail    string
}

// scene is what one anomaly looks like.
type scene struct {
	Name     string
	Time     int64
	From, To int64 // of the events that prove it
	Tracks   []int
	Holds    []int
	Evidence []spot
}

// spot is one proving event's place, numbered as in the table.
type spot struct {
	N     int
	Track int // -1: all
	At    int64
}

// maxLanes bounds what a history with made-up process names can do. 200 clients have
// room in it, with their servers and the register.
const maxTestbeds = 240

func newTimeline(run Run, events []history.Event, effects []history.Effect) *timeline {
	t := &timeline{
		testbedOf: map[string]int{},
		holdOf:    map[string]int{},
		byIndex:   make(map[int64]int, len(events)),
		bySeq:     make(map[int64]int, len(effects)),
	}
	t.findTestbeds(run, events, effects)
	refused := map[string]bool{}
	for i, e := range effects {
		t.bySeq[e.Seq] = i
		t.Start, t.End = min(t.Start, e.Time), max(t.End, e.Time)
		if e.Error != "" {
			refused[e.Process+"\x00"+e.F+"\x00"+e.Grant] = true
		}
	}
	for i, e := range events {
		t.byIndex[e.Index] = i
		t.Start, t.End = min(t.Start, e.Time), max(t.End, e.Time)
	}
	s := &timelineBuilder{t: t, refused: refused, judged: effects != nil,
		faults: map[string]map[string][]int{}, pending: map[string]*history.Pairing[int]{}, keyOf: map[string]int{}, open: map[string][]int{}}
	for i := range events {
		s.event(&events[i])
	}
	s.finish()
	s.effects(effects)
	return t
}

// findLanes lists clients, then servers, then the register, each in natural
// order: the run's nodes first, then the other processes of the history.
func (t *timeline) findTestbeds(run Run, events []history.Event, effects []history.Effect) {
	seen := map[string]bool{history.Nemesis: true}
	addTestbed := func(name, role, addr string) {
		if name == "" || seen[name] || len(t.Tracks) >= maxTestbeds {
			return
		}
		seen[name] = true
		t.Tracks = append(t.Tracks, track{name, role, addr})
	}
	for _, n := range run.Nodes {
		addTestbed(n.Name, n.Role, n.Addr)
	}
	for i := range events {
		if e := &events[i]; e.Process != history.Nemesis {
			addTestbed(e.Process, roleClient, "")
		}
	}
	if len(effects) > 0 && !slices.ContainsFunc(t.Tracks, func(l track) bool { return l.Role == roleRegister }) {
		addTestbed(roleRegister, roleRegister, "")
	}
	for i := range events {
		if e := &events[i]; e.Process == history.Nemesis {
			for _, n := range e.Nodes {
				addTestbed(n, roleServer, "")
			}
		}
	}
	order := map[string]int{roleClient: 0, roleServer: 1, roleRegister: 2}
	slices.SortStableFunc(t.Tracks, func(a, b track) int {
		if c := cmp.Compare(order[a.Role], order[b.Role]); c != 0 {
			return c
		}
		return natural(a.Name, b.Name)
	})
	for i, l := range t.Tracks {
		t.testbedOf[l.Name] = i
	}
}

// natural orders c2 before c10.
func natural(a, b string) int {
	pa, na := trailingNumber(a)
	pb, nb := trailingNumber(b)
	if c := strings.Compare(pa, pb); c != 0 {
		return c
	}
	if c := cmp.Compare(len(na), len(nb)); c != 0 {
		return c
	}
	return strings.Compare(na, nb)
}

func trailingNumber(s string) (prefix, number string) {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	return s[:i], strings.TrimLeft(s[i:], "0")
}

// addScene places one anomaly. Indexes that are not in the history are skipped
// here; the table names them.
func (t *timeline) addScene(a checker.Anomaly, rows []evidenceRow) {
	at := max(t.Start, min(t.End, a.Time))
	sc := scene{Name: a.Name, Time: at, From: at, To: at}
	grants := a.Grants
	for _, r := range rows {
		if r.N == 0 || !r.Found {
			continue
		}
		sc.From, sc.To = min(sc.From, r.at), max(sc.To, r.at)
		if len(r.nodes) == 0 {
			sc.Evidence = append(sc.Evidence, spot{r.N, -1, r.at})
		}
		for _, n := range r.nodes {
			if l, ok := t.testbedOf[n]; ok {
				sc.Evidence = append(sc.Evidence, spot{r.N, l, r.at})
				sc.Tracks = append(sc.Tracks, l)
			}
		}
		if len(a.Grants) == 0 && r.grant != "" {
			grants = append(grants, r.grant)
		}
	}
	for _, g := range grants {
		if h, ok := t.holdOf[g]; ok {
			sc.Holds = append(sc.Holds, h)
			sc.Tracks = append(sc.Tracks, t.Holds[h].Track)
		}
	}
	for _, p := range a.Processes {
		if l, ok := t.testbedOf[p]; ok {
			sc.Tracks = append(sc.Tracks, l)
		}
	}
	slices.Sort(sc.Tracks)
	sc.Tracks = slices.Compact(sc.Tracks)
	slices.Sort(sc.Holds)
	sc.Holds = slices.Compact(sc.Holds)
	t.Anomalies = append(t.Anomalies, sc)
}

// window is the stretch of time that shows a scene with context: two leases on
// either side, less where the scene is short against the lease, for then its
// steps would lie on one another.
func (t *timeline) window(sc scene, lease int64) (from, to int64) {
	const far = math.MaxInt64 / 8 // no sum below overflows
	long := min(sc.To-sc.From, far)
	pad := 2 * min(lease, far)
	if long > 0 {
		pad = min(pad, 2*long)
		pad = max(pad, long/8)
	}
	if pad <= 0 {
		pad = 1e9
	}
	from, to = max(t.Start, sc.From-pad), min(t.End, min(sc.To, 4*far)+pad)
	if to <= from {
		to = from + 1
	}
	return from, to
}

// maxRefused is how many refused operations a report names.
const maxRefused = 5

// rejected lists what the register refused, in the order in which its clients learnt
// of it.
func (t *timeline) rejected() []mark {
	var out []mark
	for _, m := range t.Marks {
		if m.Kind == markRejected {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b mark) int { return cmp.Compare(a.At, b.At) })
	return out
}

// refused names the first operations that the register refused, and counts all.
func (t *timeline) refused() (rows []refusedView, count string) {
	n := 0
	for _, m := range t.rejected() {
		if n++; n > maxRefused {
			continue
		}
		what := m.F
		if m.Value != "" {
			what += " of “" + clip(m.Value, 60) + "”"
		}
		if m.Hold >= 0 {
			what += " under " + clip(t.Holds[m.Hold].Grant, 60)
		}
		rows = append(rows, refusedView{format.Instant(m.At), clip(m.Process, 60), what, clip(m.Error, maxChip), fmt.Sprintf("event %d", m.Index)})
	}
	return rows, plural(n, "operation", "operations")
}

// longestLease is the run's ttl, or what the grants promise where a run says
// nothing.
func (t *timeline) longestLease(run Run) int64 {
	if run.TTL > 0 {
		return int64(run.TTL)
	}
	var longest int64
	for _, h := range t.Holds {
		if h.Lease >= 0 {
			longest = max(longest, h.Lease-h.Since)
		}
	}
	return longest
}
