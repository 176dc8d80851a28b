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
		"held":           {one(checker.True, checker.True, nil), outHeld, "s on l, without fencing\npass: 1 fault took effect"},
		"refused":        {refused, outRefused, "s on l, fencing read-write\npass: the register refused: 3 operations"},
		"not fenced":     {unfenced, outHeld, "pass: 1 fault took effect"},
		"known":          {one(checker.True, checker.False, stale, "stale-write"), outKnown, "expected failure: stale-write"},
		"known, refused": {knownAndRefused, outKnown, "expected failure: stale-write"},
		"broke":          {unknownLock, outBroke, "fail: stale-write"},
		"bad":            {one(checker.False, checker.True, stale), outBad, "not as expected: expected stale-write, found valid"},
		"little":         {one(checker.Unknown, checker.Unknown, nil), outLittle, "unknown"},
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
		t.Errorf("the evidence is not told in a line: %q", got)
	}
}

// gridMatrix is a matrix of that size in which every outcome occurs.
func gridMatrix(locks, scenarios int) *Matrix {
	m := sampleMatrix()
	m.Cells, m.Scenarios = nil, nil
	for s := range scenarios {
		m.Scenarios = append(m.Scenarios, Ran{Name: fmt.Sprintf("a-scenario-of-%02d", s), About: "what it is about"})
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
	if !strings.HasPrefix(texts["title"], "picklock: ") || !strings.Contains(texts["desc"], "49 locks by 56 scenarios") || !strings.Contains(texts["desc"], "expected failure") {
		t.Errorf("title %q, desc %q", texts["title"], texts["desc"])
	}
	if !strings.Contains(b.String(), "prefers-color-scheme:dark") {
		t.Error("it knows no dark page")
	}
}

// Locks of one service stand together, in the order of their names, and scenarios in that
// of the cells.
func TestGridOrder(t *testing.T) {
	m := &Matrix{}
	for i, lock := range []string{"redis", "etcd-b", "redis-lua", "etcd-a", "redis"} {
		c := one(checker.True, checker.True, nil)
		c.Lock, c.Scenario = lock, fmt.Sprint("s", 9-i)
		c.Service, _, _ = strings.Cut(lock, "-")
		m.Cells = append(m.Cells, c)
	}
	if got, want := m.lockOrder(), []string{"etcd-a", "etcd-b", "redis", "redis-lua"}; !slices.Equal(got, want) {
		t.Errorf("locks %q, want %q", got, want)
	}
	if got, want := m.scenarioOrder(), []string{"s9", "s8", "s7", "s6", "s5"}; !slices.Equal(got, want) {
		t.Errorf("scenarios %q, want %q", got, want)
	}
}
