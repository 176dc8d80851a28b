package results

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

func TestOutcome(t *testing.T) {
	stale := []string{"stale-write"}
	refused := one(checker.True, checker.True, nil)
	refused.Fencing, refused.Refused = "read-write", 3
	unfenced := refused
	unfenced.Fencing = "none" // a queue refuses, too, but nobody for being late
	knownAndRefused := one(checker.True, checker.False, stale, "stale-write")
	knownAndRefused.Fencing, knownAndRefused.Refused = "write", 1
	unknownLock := one(checker.False, checker.False, nil, "stale-write")
	unknownLock.Expected = ""
	leftOut := one(checker.Unknown, checker.Unknown, nil)
	leftOut.LeftOut = "no redis-server"
	for name, tt := range map[string]struct {
		c    Cell
		want *outcome
		told string
	}{
		"held":           {one(checker.True, checker.True, nil), outHeld, "s on l, without fencing\nheld: 1 fault landed"},
		"refused":        {refused, outRefused, "s on l, fencing read-write\nheld because the register refused: 3 operations"},
		"not fenced":     {unfenced, outHeld, "held: 1 fault landed"},
		"known":          {one(checker.True, checker.False, stale, "stale-write"), outKnown, "known to break: stale-write"},
		"known, refused": {knownAndRefused, outKnown, "known to break: stale-write"},
		"broke":          {unknownLock, outBroke, "broke: stale-write"},
		"bad":            {one(checker.False, checker.True, stale), outBad, "not as expected: expected stale-write, found valid"},
		"little":         {one(checker.Unknown, checker.Unknown, nil), outLittle, "proved too little"},
		"left out":       {leftOut, outLeft, "left out\nno redis-server"},
	} {
		if got := tt.c.outcome(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got.Word, tt.want.Word)
		}
		if got := tt.c.story(); !strings.Contains(got, tt.told) {
			t.Errorf("%s: told %q, want %q in it", name, got, tt.told)
		}
	}
	c := one(checker.True, checker.False, stale, "stale-write")
	c.Sentence = "c4 wrote\nunder c4.1"
	if got := c.story(); !strings.HasSuffix(got, "\nc4 wrote under c4.1") {
		t.Errorf("the proof is not told in a line: %q", got)
	}
}

// gridMatrix is a matrix of that size in which every outcome occurs.
func gridMatrix(locks, scenarios int) *Matrix {
	m := sampleMatrix()
	m.Cells, m.Scenarios = nil, nil
	for s := range scenarios {
		m.Scenarios = append(m.Scenarios, Played{Name: fmt.Sprintf("a-scenario-of-%02d", s), About: "what it is about"})
		for l := range locks {
			for f, fencing := range []string{"none", "write", "read-write", "sequencer"} {
				if (l+s+f)%3 > 0 || f > 0 && s%2 > 0 || f == 3 && s > 8 {
					continue
				}
				c := one(checker.True, checker.True, nil)
				switch {
				case l == 1 && s%5 == 1:
					c = one(checker.False, checker.False, nil, "stale-write")
				case l == 2 && s%5 == 0:
					c = one(checker.Unknown, checker.Unknown, nil)
					c.Why = "nothing was contested"
				case l == 3:
					c.LeftOut = "no such server here"
				case f == 0 && s%3 > 0:
					c = one(checker.True, checker.False, []string{"stale-write"}, "stale-write")
					c.Sentence = "c4 wrote under c4.1 at 1.228 s"
				case f > 0:
					c.Refused = 2
				}
				c.Scenario, c.Lock, c.Fencing, c.Service = m.Scenarios[s].Name, fmt.Sprintf("lock-number-%02d", l), fencing, []string{"redis", "etcd", "<b>own</b>"}[l%3]
				if c.LeftOut == "" {
					c.Dir = fmt.Sprintf("cells/%s_%s_%s/1", c.Scenario, c.Lock, c.Fencing)
				}
				m.Cells = append(m.Cells, c)
			}
		}
	}
	return m
}

// Every cell is one square, in its lock's row and under its own scenario and fencing.
func TestGridHasEveryCell(t *testing.T) {
	m := gridMatrix(9, 11)
	m.Cells[5].Fencing = "of-my-own"
	g := m.grid()
	squares := 0
	for _, r := range g.Rows {
		n := 0
		for _, p := range g.Panels {
			for _, c := range p.Columns {
				sq := r.Squares[n]
				n++
				if sq.Outcome == nil {
					continue
				}
				squares++
				fencing := ", fencing " + c.Fencing
				if c.Fencing == "none" {
					fencing = ", without fencing"
				}
				if want := c.Scenario + " on " + r.Lock + fencing; !strings.HasPrefix(sq.Text, want+"\n") {
					t.Fatalf("%q stands where %q should", sq.Text, want)
				}
			}
		}
		if n != len(r.Squares) || n != g.Columns {
			t.Fatalf("%d squares under %d of %d columns", len(r.Squares), n, g.Columns)
		}
	}
	if squares != len(m.Cells) {
		t.Errorf("%d squares of %d cells", squares, len(m.Cells))
	}
	var panels []string
	for _, p := range g.Panels {
		panels = append(panels, p.Title)
	}
	if want := []string{"without fencing", "fencing: write", "read-write", "sequencer", "fencing: of-my-own"}; !slices.Equal(panels, want) {
		t.Errorf("panels %q, want %q", panels, want)
	}
	if want := []string{"<b>own</b>", "etcd", "redis"}; !slices.Equal(g.Services, want) {
		t.Errorf("services %q, want %q", g.Services, want)
	}
}

// Locks to which the same happened stand together, whatever order they come in, and one
// that shares nothing stands at the edge.
func TestAlikeStandsByAlike(t *testing.T) {
	cell := func(lock, scenario string, broken bool) Cell {
		c := one(checker.True, checker.True, nil)
		if broken {
			c = one(checker.True, checker.False, []string{"stale-write"}, "stale-write")
		}
		c.Lock, c.Scenario = lock, scenario
		return c
	}
	m := &Matrix{}
	for _, lock := range []string{"a1", "b1", "alone", "a2", "b2", "a3", "b3"} {
		if lock == "alone" {
			m.Cells = append(m.Cells, cell(lock, "other", false))
			continue
		}
		for _, s := range []string{"s1", "s2", "s3"} {
			m.Cells = append(m.Cells, cell(lock, s, lock[0] == 'a'))
		}
	}
	for range 2 {
		order := m.lockOrder()
		var kinds strings.Builder
		for _, l := range order {
			kinds.WriteByte(l[0])
		}
		// "alone" begins with an a, too: it is the last, for the first half weighs more.
		if got := kinds.String(); order[len(order)-1] != "alone" || got != "aaabbba" && got != "bbbaaaa" {
			t.Errorf("order %q", order)
		}
		if again := m.lockOrder(); !slices.Equal(order, again) {
			t.Errorf("%q, and then %q", order, again)
		}
		slices.Reverse(m.Cells)
	}
}

func TestSeriateKeepsEveryName(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 50, maxSeriated + 1} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint(i*7%max(1, n)))
		}
		got := seriate(slices.Clone(names), func(a, b string) float64 { return float64(len(a) + len(b)) }, func(string) int { return 1 })
		slices.Sort(names)
		slices.Sort(got)
		if !slices.Equal(names, got) {
			t.Errorf("of %d names: %q", n, got)
		}
	}
	// On a line, the line comes out again.
	got := seriate([]string{"dddd", "a", "ccc", "eeeee", "bb"}, func(a, b string) float64 {
		d := float64(len(a) - len(b))
		return d * d
	}, func(s string) int { return 10 - len(s) })
	if want := []string{"a", "bb", "ccc", "dddd", "eeeee"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The picture is well-formed, says itself in words, and needs and runs nothing.
func TestMatrixPicture(t *testing.T) {
	m := gridMatrix(48, 55)
	m.Cells[0].Lock, m.Cells[1].Scenario, m.Cells[2].Sentence = `<script>alert(1)</script>`, `"><a href="javascript:x">`, "a & b \x00\x1b[1m"
	var b bytes.Buffer
	if err := MatrixSVG(&b, m); err != nil {
		t.Fatal(err)
	}
	uses, texts := 0, map[string]string{}
	dec := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	last := ""
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			last = tok.Name.Local
			switch last {
			case "script", "a", "image", "foreignObject":
				t.Errorf("<%s> in the picture", last)
			case "use":
				uses++
			}
			for _, a := range tok.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#g-") {
					t.Errorf("%s=%q in the picture", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			if texts[last] == "" {
				texts[last] = string(tok)
			}
		}
	}
	if want := len(m.Cells) + len(m.legend()); uses != want {
		t.Errorf("%d squares, want %d", uses, want)
	}
	if !strings.HasPrefix(texts["title"], "picklock: ") || !strings.Contains(texts["desc"], "49 locks by 56 scenarios") || !strings.Contains(texts["desc"], "known to break") {
		t.Errorf("title %q, desc %q", texts["title"], texts["desc"])
	}
	if !strings.Contains(b.String(), "prefers-color-scheme:dark") {
		t.Error("it knows no dark page")
	}
}

// Locks that have nothing in common stand by those of their service.
func TestServicesStandTogether(t *testing.T) {
	m := &Matrix{}
	for i, service := range []string{"redis", "etcd", "redis", "etcd", "redis"} {
		c := one(checker.True, checker.True, nil)
		c.Lock, c.Scenario, c.Service = fmt.Sprint(service, i), fmt.Sprint("s", i), service
		m.Cells = append(m.Cells, c)
	}
	order := m.lockOrder()
	changes := 0
	for i := range order[1:] {
		if order[i][0] != order[i+1][0] {
			changes++
		}
	}
	if changes != 1 {
		t.Errorf("the services are mixed: %q", order)
	}
}
