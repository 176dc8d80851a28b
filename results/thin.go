package results

import (
	"encoding/json"
	"slices"
	"strconv"
)

// maxShapes bounds what one report embeds: about 2 MB of JSON, which every
// browser draws without a pause and every mail server takes.
const maxShapes = 24_000

// maxTimes bounds the anomalies that are marked on the overview.
const maxTimes = 5_000

// maxBands bounds the faults that are embedded.
const maxBands = 4_000

// data is the JSON that report.js draws. Lists of small arrays, not objects:
// names would be most of the file. Times are µs since the run's start.
type data struct {
	Span      [2]int64    `json:"span"`
	Focus     [2]int64    `json:"focus"`   // where to look first without anomalies
	Refusal   bool        `json:"refusal"` // focus is on a refused operation
	Keys      []string    `json:"keys"`
	Lanes     [][3]string `json:"lanes"`     // name, role, address
	Holds     [][]any     `json:"holds"`     // lane, from, to, since, lease's end or -1, ended, token, grant, key, event
	Waits     [][]any     `json:"waits"`     // lane, from, to, result, key
	Marks     [][]any     `json:"marks"`     // lane, from, at, kind, hold or -1, process, f, value, error, token, event or seq, key
	Bands     [][]any     `json:"bands"`     // name, from, to, lanes, landed, healed, detail
	Anomalies []sceneData `json:"anomalies"` // in the order of the list
	Times     []int64     `json:"times"`     // of all anomalies, the listed ones or not
	Density   []int       `json:"density"`   // all grants, counted in equal parts of the span
}

type sceneData struct {
	Name  string   `json:"name"`
	Time  int64    `json:"time"`
	View  [2]int64 `json:"view"`
	Chain [2]int64 `json:"chain"`
	Lanes []int    `json:"lanes"`
	Holds []int    `json:"holds"`
	Proof [][3]any `json:"proof"` // number, lane, at
}

// omitted says what thinning left out of the picture.
type omitted struct {
	Holds, Waits, Marks, Bands int
	Every                      int // one critical section in so many was kept outside the windows
}

func (o omitted) any() bool { return o.Holds+o.Waits+o.Marks+o.Bands > 0 }

// maxTime keeps times exact in JavaScript's numbers.
const maxTime = int64(1) << 52

func micros(ns int64) int64 {
	return max(-maxTime, min(maxTime, ns/1000))
}

// thin picks what to embed: everything within the windows of the anomalies as
// long as there is room, first anomalies first; every rejected write and loss
// notice, within reason; whole critical sections, evenly, from the rest.
func (t *timeline) thin(windows [][2]int64) (holds, waits, marks []bool, o omitted) {
	holds, waits, marks = make([]bool, len(t.Holds)), make([]bool, len(t.Waits)), make([]bool, len(t.Marks))
	total := len(holds) + len(waits) + len(marks)
	if total <= maxShapes {
		for _, s := range [][]bool{holds, waits, marks} {
			for i := range s {
				s[i] = true
			}
		}
		return holds, waits, marks, o
	}
	o.Every = (total + maxShapes/2 - 1) / (maxShapes / 2)
	left := maxShapes
	keep := func(s []bool, i int) {
		if !s[i] {
			s[i] = true
			left--
		}
	}
	for i := range t.Holds {
		if i%o.Every == 0 {
			keep(holds, i)
		}
	}
	for i, w := range t.Waits {
		if w.Hold >= 0 && holds[w.Hold] || w.Hold < 0 && i%o.Every == 0 {
			keep(waits, i)
		}
	}
	rare := maxShapes / 12
	for i, m := range t.Marks {
		switch {
		case m.Kind == markRejected || m.Kind == markLost || m.Kind == markRefused:
			if rare > 0 {
				rare--
				keep(marks, i)
			}
		case m.Hold >= 0 && holds[m.Hold] || m.Hold < 0 && i%o.Every == 0:
			keep(marks, i)
		}
	}
	for _, w := range windows {
		var hs, ws, ms []int
		for i, h := range t.Holds {
			if h.From <= w[1] && max(h.To, h.Lease) >= w[0] {
				hs = append(hs, i)
			}
		}
		for i, x := range t.Waits {
			if x.From <= w[1] && x.To >= w[0] {
				ws = append(ws, i)
			}
		}
		for i, m := range t.Marks {
			if m.From <= w[1] && m.At >= w[0] {
				ms = append(ms, i)
			}
		}
		if len(hs)+len(ws)+len(ms) > left {
			break
		}
		for _, i := range hs {
			keep(holds, i)
		}
		for _, i := range ws {
			keep(waits, i)
		}
		for _, i := range ms {
			keep(marks, i)
		}
	}
	// The holds of a shown anomaly are never missing from its picture.
	for _, sc := range t.Anomalies {
		for _, h := range sc.Holds {
			keep(holds, h)
		}
	}
	o.Holds, o.Waits, o.Marks = count(holds), count(waits), count(marks)
	return holds, waits, marks, o
}

// density counts all grants in n equal parts of the run.
func (t *timeline) density(n int) []int {
	out := make([]int, n)
	long := float64(t.End) - float64(t.Start)
	if long <= 0 {
		return out
	}
	for _, h := range t.Holds {
		out[max(0, min(n-1, int(float64(n)*(float64(h.From)-float64(t.Start))/long)))]++
	}
	return out
}

func count(kept []bool) int {
	n := 0
	for _, k := range kept {
		if !k {
			n++
		}
	}
	return n
}

// encode makes the JSON of report.js. encoding/json escapes <, > and & inside
// strings, so nothing in it can end the script element.
func (t *timeline) encode(lease int64) ([]byte, omitted, error) {
	from, to, refusal := t.focus(lease)
	d := data{Span: [2]int64{micros(t.Start), micros(t.End)}, Focus: [2]int64{micros(from), micros(to)}, Refusal: refusal}
	windows := [][2]int64{}
	if len(t.Anomalies) == 0 {
		windows = append(windows, [2]int64{from, to})
	}
	for _, sc := range t.Anomalies {
		from, to := t.window(sc, lease)
		windows = append(windows, [2]int64{from, to})
	}
	holds, waits, marks, o := t.thin(windows)

	for _, l := range t.Lanes {
		d.Lanes = append(d.Lanes, [3]string{clip(l.Name, 200), clip(l.Role, 40), clip(l.Addr, 80)})
	}
	for _, k := range t.Keys {
		if len(d.Keys) == 1000 {
			break // the rest have no name in tooltips
		}
		d.Keys = append(d.Keys, clip(k, 100))
	}
	place := make([]int, len(t.Holds))
	for i, h := range t.Holds {
		place[i] = -1
		if !holds[i] {
			continue
		}
		place[i] = len(d.Holds)
		end := int64(-1)
		if h.Lease >= 0 {
			end = micros(h.Lease)
		}
		d.Holds = append(d.Holds, []any{h.Lane, micros(h.From), micros(h.To), micros(h.Since), end, h.Ended, exact(h.Token), clip(h.Grant, 80), h.Key, h.Index})
	}
	for i, w := range t.Waits {
		if waits[i] {
			d.Waits = append(d.Waits, []any{w.Lane, micros(w.From), micros(w.To), w.Result, w.Key})
		}
	}
	for i, m := range t.Marks {
		if !marks[i] {
			continue
		}
		h := -1
		if m.Hold >= 0 {
			h = place[m.Hold]
		}
		process := ""
		if t.Lanes[m.Lane].Role == roleRegister {
			process = clip(m.Process, 80) // else the lane says it
		}
		d.Marks = append(d.Marks, []any{m.Lane, micros(m.From), micros(m.At), m.Kind, h, process, m.F, clip(m.Value, 80), clip(m.Error, 200), exact(m.Token), m.Index, m.Key})
	}
	for _, b := range t.Bands {
		if len(d.Bands) == maxBands {
			o.Bands = len(t.Bands) - maxBands
			break
		}
		lanes := b.Lanes
		if lanes == nil {
			lanes = []int{}
		}
		d.Bands = append(d.Bands, []any{clip(b.Name, 40), micros(b.From), micros(b.To), lanes, b.Landed, b.Healed, clip(b.Detail, 200)})
	}
	d.Density = t.density(480)
	for i, at := range t.Times {
		if len(t.Times) <= maxTimes || i%(len(t.Times)/maxTimes+1) == 0 {
			d.Times = append(d.Times, micros(at))
		}
	}
	for i, sc := range t.Anomalies {
		s := sceneData{Name: clip(sc.Name, 60), Time: micros(sc.Time), View: [2]int64{micros(windows[i][0]), micros(windows[i][1])},
			Chain: [2]int64{micros(sc.From), micros(sc.To)}, Lanes: slices.Clone(sc.Lanes)}
		for _, h := range sc.Holds {
			s.Holds = append(s.Holds, place[h])
		}
		for _, p := range sc.Proof {
			s.Proof = append(s.Proof, [3]any{p.N, p.Lane, micros(p.At)})
		}
		d.Anomalies = append(d.Anomalies, s)
	}
	b, err := json.Marshal(d)
	return b, o, err
}

// exact keeps a token readable where JavaScript would round it.
func exact(token int64) any {
	if token > maxTime || token < -maxTime {
		return strconv.FormatInt(token, 10)
	}
	return token
}
