package verdict

import (
	"cmp"
	"slices"
)

// Group is the anomalies of one kind and cause that nothing deeper explains, with those that they led to. Those of
// which different faults are suspected are apart, unless one wrong step of the lock itself brought all of them about.
type Group struct {
	Name     string `json:"name"`
	Property string `json:"property"`
	Required bool   `json:"required"`
	Cause    string `json:"cause,omitempty"`
	// Suspect is the kind of fault that is blamed for all of its own anomalies, as
	// Suspect.Kind has it; "" where none is, or not the same for all.
	Suspect string        `json:"suspect,omitempty"`
	Count   int           `json:"count"`
	First   int           `json:"first"` // position of the earliest among the verdict's anomalies
	LedTo   []Consequence `json:"led_to,omitempty"`
	// Members are the positions of all of its own anomalies.
	Members []int `json:"-"`
}

// Consequence is the anomalies of one kind that a group led to.
type Consequence struct {
	Name     string `json:"name"`
	Property string `json:"property"`
	Required bool   `json:"required"`
	Count    int    `json:"count"` // those of the very grants that the evidence of the cause names
	// Perhaps counts those of the same lock of which no event says that the cause
	// was this one, and none that it was another.
	Perhaps int `json:"perhaps,omitempty"`
	First   int `json:"first"` // position of the earliest among the verdict's anomalies
}

// Groups sorts a verdict's anomalies by root cause, the deepest first, after those
// that decide the verdict. Every anomaly is in one group, as a member or as a
// consequence.
func (v Verdict) Groups() []Group {
	g := grouping{v: v, parent: make([]int, len(v.Anomalies)), weak: make([]bool, len(v.Anomalies)),
		pairs: map[pair][]int{}, newest: map[newestGrant]int{}, first: map[lockAnomaly]int{}, reasons: map[lockReason]int{}, stale: map[int64]int{}, freed: map[lockGrant]int{}, misled: map[lockGrant]int{}}
	return g.groups()
}

// ByCause lists the positions of the anomalies that a reader should see first: of each
// root cause the first one, the deepest cause first, and then the first of each kind
// that it led to. Every kind that the verdict holds is among them.
func (v Verdict) ByCause() []int {
	var out []int
	for _, g := range v.Groups() {
		out = append(out, g.First)
		for _, c := range g.LedTo {
			out = append(out, c.First)
		}
	}
	return out
}

type pair struct{ key, a, b string }

type lockAnomaly struct{ key, name string }

type lockGrant struct{ key, grant string }

// lockReason is an anomaly of a lock with what is known of how it came about: the cause, and the fault that is suspected.
type lockReason struct {
	lockAnomaly
	cause, fault string
	begin        int64 // of the fault
}

// reason is that of an anomaly of this lock and kind which came about as a did. It is false if nothing is known of that.
func (a *Anomaly) reason(kind string) (lockReason, bool) {
	r := lockReason{lockAnomaly: lockAnomaly{a.Key, kind}, cause: a.Cause}
	if a.Suspect != nil {
		r.fault, r.begin = a.Suspect.Fault, a.Suspect.Begin
	}
	return r, r.cause != "" || r.fault != ""
}

// newestGrant is a grant that was the newer one of an anomaly of that name.
type newestGrant struct {
	lockGrant
	anomaly string
}

// grouping finds for each anomaly the deeper one that brought it about.
type grouping struct {
	v      Verdict
	parent []int  // position of the anomaly that led to this one; -1: none
	weak   []bool // that it did is likely only
	// Where to look for a cause: by the two grants that met, and by the lock.
	pairs   map[pair][]int
	newest  map[newestGrant]int // early and double grants, and falling tokens, by the newer of the grants
	first   map[lockAnomaly]int // of each kind the first of each lock
	reasons map[lockReason]int  // of each kind the first of each lock that came about so
	stale   map[int64]int       // stale writes by their sequence number
	freed   map[lockGrant]int   // wrong releases by the grant that was released
	misled  map[lockGrant]int   // the first false belief in each grant
}

// maxPaired bounds the pairs of one anomaly: a semaphore's can be of many grants.
// maxShared bounds the anomalies that are remembered of one pair.
const (
	maxPaired = 8
	maxShared = 4
)

func (g *grouping) pairsOf(a *Anomaly) []pair {
	var out []pair
	grants := a.Grants[:min(len(a.Grants), maxPaired)]
	if a.Name == "wrong-release" && len(grants) == 3 {
		grants = grants[1:] // who released had met the victim before
	}
	for i, x := range grants {
		for _, y := range grants[i+1:] {
			if x != "" && y != "" && x != y {
				out = append(out, pair{a.Key, min(x, y), max(x, y)})
			}
		}
	}
	return out
}

func (g *grouping) groups() []Group {
	order := make([]int, len(g.v.Anomalies))
	for i := range order {
		order[i] = i
	}
	deep := map[string]int{}
	for i := range g.v.Anomalies {
		deep[g.v.Anomalies[i].Name] = Info(g.v.Anomalies[i].Name).Depth
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(deep[g.v.Anomalies[i].Name], deep[g.v.Anomalies[j].Name])
	})
	for _, i := range order {
		g.attach(i)
	}
	return g.collect(order)
}

// attach finds the cause of anomaly i among the deeper ones, and files i itself as
// what shallower ones can come from.
func (g *grouping) attach(i int) {
	a := &g.v.Anomalies[i]
	g.parent[i] = -1
	if p, weak, ok := g.causeOf(a); ok {
		g.parent[i], g.weak[i] = p, weak || g.weak[p]
		if q := g.parent[p]; q >= 0 {
			g.parent[i] = q // the root itself
		}
	}
	for _, p := range g.pairsOf(a) {
		if len(g.pairs[p]) < maxShared {
			g.pairs[p] = append(g.pairs[p], i)
		}
	}
	if n := len(a.Effects); a.Name == "stale-write" && n > 0 {
		g.stale[a.Effects[n-1]] = i // the write itself is the last of its evidence
	}
	if a.Name == "granted-early" || a.Name == "double-grant" || a.Name == "token-regression" {
		if of, named := newestOf(a); named {
			if _, known := g.newest[newestGrant{of, a.Name}]; !known {
				g.newest[newestGrant{of, a.Name}] = i
			}
		}
	}
	if a.Name == "wrong-release" && len(a.Grants) > 0 && a.Grants[0] != "" {
		g.freed[lockGrant{a.Key, a.Grants[0]}] = i
	}
	if a.Name == "false-belief" && len(a.Grants) > 0 && a.Grants[0] != "" {
		if at, known := g.misled[lockGrant{a.Key, a.Grants[0]}]; !known || a.Time < g.v.Anomalies[at].Time {
			g.misled[lockGrant{a.Key, a.Grants[0]}] = i
		}
	}
	of := lockAnomaly{a.Key, a.Name}
	if r, ok := a.reason(a.Name); ok {
		if at, known := g.reasons[r]; !known || a.Time < g.v.Anomalies[at].Time {
			g.reasons[r] = i
		}
	}
	if _, ok := g.first[of]; !ok {
		g.first[of] = i
	}
}

// causeOf returns the position of the anomaly that led to a. The table says, by a's cause, which
// kinds can have, and what they have in common with a.
func (g *grouping) causeOf(a *Anomaly) (at int, weak, ok bool) {
	for _, o := range a.origins() {
		switch o.Link {
		case SameGrants:
			at, ok = g.met(a, o.Anomalies...)
		case SameNewest:
			at, ok = g.byNewest(a, o.Anomalies)
		case SameThird:
			at, ok = g.byThird(a, o.Anomalies)
		case SameMisled:
			at, ok = g.byMisled(a)
		case SameWrite:
			at, ok = g.byWrite(a)
		case SameRelease:
			if len(a.Grants) > 0 {
				at, ok = g.freed[lockGrant{a.Key, a.Grants[0]}]
			}
		case SameReason:
			var r lockReason
			if r, ok = a.reason(o.Anomalies[0]); ok {
				at, ok = g.reasons[r]
			}
			ok = ok && g.v.Anomalies[at].Time <= a.Time
		case SameLock, PerhapsByLock, PerhapsSince:
			at, ok = g.first[lockAnomaly{a.Key, o.Anomalies[0]}]
			ok = ok && (o.Link != PerhapsSince || g.v.Anomalies[at].Time <= a.Time)
		}
		if ok {
			return at, o.Link >= PerhapsByLock, true
		}
	}
	return 0, false, false
}

// newestOf returns the newest grant of a, which is the last that it names.
func newestOf(a *Anomaly) (of lockGrant, ok bool) {
	if len(a.Grants) == 0 || a.Grants[len(a.Grants)-1] == "" {
		return lockGrant{}, false
	}
	return lockGrant{a.Key, a.Grants[len(a.Grants)-1]}, true
}

// byNewest finds the first anomaly of one of the kinds, not later than a, that has the same newest grant.
func (g *grouping) byNewest(a *Anomaly, kinds []string) (int, bool) {
	of, named := newestOf(a)
	for _, name := range kinds {
		if at, ok := g.newest[newestGrant{of, name}]; ok && named && g.v.Anomalies[at].Time <= a.Time {
			return at, true
		}
	}
	return 0, false
}

// byThird finds the first anomaly of one of the kinds, not later than a, in which a grant of a met a third one that
// another grant of a had met before in such an anomaly. Which of a's is the newer, a need not know.
func (g *grouping) byThird(a *Anomaly, kinds []string) (int, bool) {
	for _, newer := range slices.Backward(a.Grants) {
		for _, older := range a.Grants {
			if newer == older {
				continue
			}
			if at, ok := g.metThird(a, newer, older, kinds); ok {
				return at, true
			}
		}
	}
	return 0, false
}

// metThird finds the anomaly by which the newer grant of two met a third one: the older had met that before, or it had met
// the older.
func (g *grouping) metThird(a *Anomaly, newer, older string, kinds []string) (int, bool) {
	// olders are those that a grant met as the newest.
	olders := func(grant, kind string) (at int, out []string) {
		at, ok := g.newest[newestGrant{lockGrant{a.Key, grant}, kind}]
		if !ok || grant == "" || g.v.Anomalies[at].Time > a.Time {
			return 0, nil
		}
		return at, g.v.Anomalies[at].older()
	}
	for _, kind := range kinds {
		at, thirds := olders(newer, kind)
		for _, third := range thirds {
			for _, other := range kinds {
				_, before := olders(older, other)
				_, between := olders(third, other)
				if third != "" && (slices.Contains(before, third) || older != "" && slices.Contains(between, older)) {
					return at, true
				}
			}
		}
	}
	return 0, false
}

// byMisled finds the false belief, not later than a, in one of a's older grants.
func (g *grouping) byMisled(a *Anomaly) (int, bool) {
	for _, grant := range a.older() {
		if at, ok := g.misled[lockGrant{a.Key, grant}]; ok && g.v.Anomalies[at].Time <= a.Time {
			return at, true
		}
	}
	return 0, false
}

// older are the grants of an anomaly without the newest.
func (a *Anomaly) older() []string { return a.Grants[:max(0, len(a.Grants)-1)] }

// byWrite finds the stale write that a's evidence holds: it overwrote, or it was lost itself.
func (g *grouping) byWrite(a *Anomaly) (at int, ok bool) {
	for _, seq := range a.Effects {
		if at, ok = g.stale[seq]; ok {
			return at, true
		}
	}
	return 0, false
}

// met finds the first anomaly of one of the kinds, not later than a, in which two of
// a's grants met.
func (g *grouping) met(a *Anomaly, kinds ...string) (int, bool) {
	for _, p := range g.pairsOf(a) {
		for _, at := range g.pairs[p] {
			if b := &g.v.Anomalies[at]; b.Time <= a.Time && slices.Contains(kinds, b.Name) {
				return at, true
			}
		}
	}
	return 0, false
}

// collect makes the groups. order is the deepest first.
func (g *grouping) collect(order []int) []Group {
	type id struct{ name, cause, suspect string }
	var out []Group
	groupOf := map[id]int{}
	rootOf := make([]int, len(order))
	for _, i := range order {
		a := &g.v.Anomalies[i]
		required := g.v.Properties[a.Property].Required
		if p := g.parent[i]; p >= 0 {
			rootOf[i] = rootOf[p]
			out[rootOf[i]].add(Consequence{a.Name, a.Property, required, 1, 0, i}, g.weak[i], g.v.Anomalies)
			continue
		}
		suspect := a.Suspect.Kind()
		self := id{a.Name, a.Cause, suspect}
		if a.OwnStep() {
			self.suspect = ""
		}
		n, ok := groupOf[self]
		if !ok {
			n = len(out)
			groupOf[self] = n
			out = append(out, Group{Name: a.Name, Property: a.Property, Required: required, Cause: a.Cause, Suspect: suspect, First: i})
		}
		if out[n].Suspect != suspect {
			out[n].Suspect = ""
		}
		out[n].Count++
		out[n].Members = append(out[n].Members, i)
		if a.Time < g.v.Anomalies[out[n].First].Time {
			out[n].First = i
		}
		rootOf[i] = n
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(Info(a.Name).Depth, Info(b.Name).Depth), cmp.Compare(b.Count, a.Count))
	})
	return out
}

// add counts one anomaly among what the group led to.
func (g *Group) add(c Consequence, weak bool, all []Anomaly) {
	i := slices.IndexFunc(g.LedTo, func(x Consequence) bool { return x.Name == c.Name })
	if i < 0 {
		i = len(g.LedTo)
		g.LedTo = append(g.LedTo, Consequence{c.Name, c.Property, c.Required, 0, 0, c.First})
	}
	l := &g.LedTo[i]
	if weak {
		l.Perhaps++
	} else {
		l.Count++
	}
	if all[c.First].Time < all[l.First].Time {
		l.First = c.First
	}
}
