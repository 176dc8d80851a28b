package results

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/picklock/picklock/history"
)

// maxTimes bounds the anomalies that are marked on the overview.
const maxTimes = 5_000

// maxBands bounds the faults that are embedded.
const maxBands = 4_000

// list is a JSON array also where it is empty: a script can go through every one of
// them without asking.
type list[T any] []T

// MarshalJSON implements json.Marshaler.
func (l list[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// data is the JSON that report.js draws. Times are µs since the run's start; a field
// that is left out is 0, "" or false.
type data struct {
	Span      [2]int64        `json:"span"`
	Focus     focusData       `json:"focus"` // where to look first without anomalies
	Keys      list[string]    `json:"keys"`
	Tracks    list[trackData] `json:"tracks"`
	Holds     list[holdData]  `json:"holds"`
	Waits     list[waitData]  `json:"waits"`
	Marks     list[markData]  `json:"marks"`
	Bands     list[bandData]  `json:"bands"`
	Anomalies list[sceneData] `json:"anomalies"` // in the order of the list
	Times     list[int64]     `json:"times"`     // of all anomalies, the listed ones or not
	Density   list[int]       `json:"density"`   // all grants, counted in equal parts of the span
	Styles    stylesData      `json:"styles"`
}

type focusData struct {
	View   [2]int64  `json:"view"`
	What   focusKind `json:"what"`
	Tracks list[int] `json:"tracks"` // that act in it
}

type trackData struct {
	Name string `json:"name"`
	Role string `json:"role"`
	Addr string `json:"addr,omitempty"`
	// Always shown, also where only those that are involved are.
	Always bool `json:"always,omitempty"`
}

type holdData struct {
	Track int     `json:"track"`
	From  int64   `json:"from"`
	To    int64   `json:"to"`
	Lease *int64  `json:"lease,omitempty"` // its certain end; missing where none was promised
	Ended endKind `json:"ended"`
	Token any     `json:"token,omitempty"`
	Grant string  `json:"grant,omitempty"`
	Key   int     `json:"key,omitempty"`
	Event int64   `json:"event"`
}

type waitData struct {
	Track  int          `json:"track"`
	From   int64        `json:"from"`
	To     int64        `json:"to"`
	Result history.Type `json:"result"`
	Key    int          `json:"key,omitempty"`
}

type markData struct {
	Track   int      `json:"track"`
	From    int64    `json:"from"`
	At      int64    `json:"at"`
	Kind    markKind `json:"kind"`
	Hold    int      `json:"hold"` // -1: none known
	Process string   `json:"process,omitempty"`
	F       string   `json:"f"`
	Value   string   `json:"value,omitempty"`
	Error   string   `json:"error,omitempty"`
	Token   any      `json:"token,omitempty"`
	Index   int64    `json:"index"` // of the event, or the effect's sequence number
	Key     int      `json:"key,omitempty"`
}

type bandData struct {
	Name      string    `json:"name"`
	From      int64     `json:"from"`
	To        int64     `json:"to"`
	Tracks    list[int] `json:"tracks"` // none: all
	Confirmed bool      `json:"confirmed,omitempty"`
	Healed    bool      `json:"healed,omitempty"`
	Detail    string    `json:"detail,omitempty"`
}

type sceneData struct {
	Name     string         `json:"name"`
	Time     int64          `json:"time"`
	View     [2]int64       `json:"view"`
	Chain    [2]int64       `json:"chain"`
	Tracks   list[int]      `json:"tracks"`
	Holds    list[int]      `json:"holds"`
	Evidence list[spotData] `json:"evidence"`
}

type spotData struct {
	N     int   `json:"n"`
	Track int   `json:"track"`
	At    int64 `json:"at"`
}

// maxTime keeps times exact in JavaScript's numbers.
const maxTime = int64(1) << 52

func micros(ns int64) int64 {
	return max(-maxTime, min(maxTime, ns/1000))
}

// encode makes the JSON of report.js. encoding/json escapes <, > and & inside
// strings, so nothing in it can end the script element.
func (t *timeline) encode(lease int64) ([]byte, omitted, error) {
	f := t.focus(lease)
	d := data{Span: [2]int64{micros(t.Start), micros(t.End)}, Focus: focusData{[2]int64{micros(f.From), micros(f.To)}, f.What, f.Tracks}}
	windows := [][2]int64{}
	if len(t.Anomalies) == 0 {
		windows = append(windows, [2]int64{f.From, f.To})
	}
	for _, sc := range t.Anomalies {
		from, to := t.window(sc, lease)
		windows = append(windows, [2]int64{from, to})
	}
	d.Styles = styles()
	holds, waits, marks, o := t.downsample(windows)

	for _, l := range t.Tracks {
		d.Tracks = append(d.Tracks, trackData{clip(l.Name, 200), clip(l.Role, 40), clip(l.Addr, 80), l.Role == roleRegister})
	}
	for _, k := range t.Keys {
		if len(d.Keys) == 1000 {
			break // the rest have no name in tooltips
		}
		d.Keys = append(d.Keys, clip(k, 100))
	}
	place := t.encodeHolds(&d, holds)
	for i, w := range t.Waits {
		if waits[i] {
			d.Waits = append(d.Waits, waitData{w.Track, micros(w.From), micros(w.To), w.Result, w.Key})
		}
	}
	t.encodeMarks(&d, marks, place)
	for _, b := range t.Bands {
		if len(d.Bands) == maxBands {
			o.Bands = len(t.Bands) - maxBands
			break
		}
		d.Bands = append(d.Bands, bandData{clip(b.Name, 40), micros(b.From), micros(b.To), b.Tracks, b.Confirmed, b.Healed, clip(b.Detail, 200)})
	}
	d.Density = t.density(480)
	for i, at := range t.Times {
		if len(t.Times) <= maxTimes || i%(len(t.Times)/maxTimes+1) == 0 {
			d.Times = append(d.Times, micros(at))
		}
	}
	for i, sc := range t.Anomalies {
		s := sceneData{Name: clip(sc.Name, 60), Time: micros(sc.Time), View: [2]int64{micros(windows[i][0]), micros(windows[i][1])},
			Chain: [2]int64{micros(sc.From), micros(sc.To)}, Tracks: slices.Clone(sc.Tracks)}
		for _, h := range sc.Holds {
			s.Holds = append(s.Holds, place[h])
		}
		for _, p := range sc.Evidence {
			s.Evidence = append(s.Evidence, spotData{p.N, p.Track, micros(p.At)})
		}
		d.Anomalies = append(d.Anomalies, s)
	}
	b, err := json.Marshal(d)
	return b, o, err
}

// encodeHolds returns where each hold went, -1 for those that were left out.
func (t *timeline) encodeHolds(d *data, keep []bool) []int {
	place := make([]int, len(t.Holds))
	for i, h := range t.Holds {
		place[i] = -1
		if !keep[i] {
			continue
		}
		place[i] = len(d.Holds)
		out := holdData{Track: h.Track, From: micros(h.From), To: micros(h.To), Ended: h.Ended, Token: exact(h.Token), Grant: clip(h.Grant, 80), Key: h.Key, Event: h.Index}
		if h.Lease >= 0 {
			end := micros(h.Lease)
			out.Lease = &end
		}
		d.Holds = append(d.Holds, out)
	}
	return place
}

func (t *timeline) encodeMarks(d *data, keep []bool, place []int) {
	for i, m := range t.Marks {
		if !keep[i] {
			continue
		}
		out := markData{Track: m.Track, From: micros(m.From), At: micros(m.At), Kind: m.Kind, Hold: -1, F: m.F,
			Value: clip(m.Value, 80), Error: clip(m.Error, 200), Token: exact(m.Token), Index: m.Index, Key: m.Key}
		if m.Hold >= 0 {
			out.Hold = place[m.Hold]
		}
		if t.Tracks[m.Track].Role == roleRegister {
			out.Process = clip(m.Process, 80) // else the track says it
		}
		d.Marks = append(d.Marks, out)
	}
}

// exact keeps a token readable where JavaScript would round it; nil where there is
// none.
func exact(token int64) any {
	if token == 0 {
		return nil
	}
	if token > maxTime || token < -maxTime {
		return strconv.FormatInt(token, 10)
	}
	return token
}
