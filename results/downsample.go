package results

// maxShapes bounds what one report embeds: about 2 MB of JSON, which every
// browser draws without a pause and every mail server takes.
const maxShapes = 24_000

// omitted says what downsampling left out of the picture.
type omitted struct {
	Holds, Waits, Marks, Bands int
	Every                      int // one critical section in so many was kept outside the windows
}

func (o omitted) any() bool { return o.Holds+o.Waits+o.Marks+o.Bands > 0 }

// downsample picks what to embed: everything within the windows of the anomalies as
// long as there is room, first anomalies first; every rejected write and loss
// notice, within reason; whole critical sections, evenly, from the rest.
func (t *timeline) downsample(windows [][2]int64) (holds, waits, marks []bool, o omitted) {
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

// count says how many are left out.
func count(kept []bool) int {
	n := 0
	for _, k := range kept {
		if !k {
			n++
		}
	}
	return n
}
