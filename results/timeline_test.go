package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

func TestTimelineShapes(t *testing.T) {
	ev := func(at int64, p string, typ history.Type, f string) history.Event {
		return history.Event{Time: at, Process: p, Type: typ, F: f, Key: "k", Grant: p + ".1"}
	}
	grant := ev(20, "c1", history.OK, history.Acquire)
	grant.Since, grant.Lease = 15, 100
	renewed := ev(60, "c1", history.OK, history.Renew)
	renewed.Since, renewed.Lease = 55, 100
	kill := history.Event{Time: 70, Process: history.Nemesis, Type: history.Info, F: "kill", Nodes: []string{"c1"}, Phase: history.Begin, Confirmed: true}
	missed := kill
	missed.Confirmed = false
	for _, c := range []struct {
		name      string
		last      history.Event
		to, lease int64
		ended     endKind
		kind      markKind
	}{
		{"released", ev(80, "c1", history.Invoke, history.Release), 80, 155, heldReleased, ""},
		{"lost", ev(80, "c1", history.Info, history.Lost), 80, 155, heldLost, markLost},
		{"killed", kill, 70, 155, heldKilled, ""},
		{"a kill that missed", missed, 90, 155, heldOpen, ""},
		{"never ended", ev(80, "c2", history.Invoke, history.Acquire), 90, 155, heldOpen, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := newTimeline(Run{}, []history.Event{ev(10, "c1", history.Invoke, history.Acquire), grant, renewed, c.last, ev(90, "c3", history.Invoke, history.Acquire)}, nil)
			if len(tl.Holds) != 1 {
				t.Fatalf("%d holds", len(tl.Holds))
			}
			h := tl.Holds[0]
			if h.From != 20 || h.To != c.to || h.Since != 15 || h.Lease != c.lease || h.Ended != c.ended {
				t.Errorf("%+v", h)
			}
			if w := tl.Waits[0]; w.From != 10 || w.To != 20 || w.Hold != 0 {
				t.Errorf("wait %+v", w)
			}
			if c.kind != "" && (len(tl.Marks) != 1 || tl.Marks[0].Kind != c.kind) {
				t.Errorf("marks %+v", tl.Marks)
			}
		})
	}
}

// TestTimelineDowngrade: what a client had alone ends when it asks to share it, unless that certainly failed.
func TestTimelineDowngrade(t *testing.T) {
	ev := func(at int64, typ history.Type, grant, mode string) history.Event {
		return history.Event{Time: at, Process: "c1", Type: typ, F: history.Acquire, Key: "k", Grant: grant, Mode: mode}
	}
	for typ, want := range map[history.Type]string{
		history.OK: "10-30 released 40-90 open", history.Info: "10-30 released", history.Fail: "10-90 open",
	} {
		asked := []history.Event{ev(5, history.Invoke, "", ""), ev(10, history.OK, "c1.1", ""), ev(30, history.Invoke, "", history.Downgrade), ev(40, typ, "", history.Downgrade)}
		if typ == history.OK {
			asked[3].Grant = "c1.2"
		}
		var got []string
		for _, h := range newTimeline(Run{}, append(asked, history.Event{Time: 90, Process: "c2", Type: history.Invoke, F: history.Acquire, Key: "k"}), nil).Holds {
			got = append(got, fmt.Sprintf("%d-%d %s", h.From, h.To, map[endKind]string{heldReleased: "released", heldOpen: "open"}[h.Ended]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", typ, got, want)
		}
	}
}

func TestTimelineTellsRefusalFromFailure(t *testing.T) {
	w := func(i int64, p string, typ history.Type) history.Event {
		return history.Event{Index: i, Time: i, Process: p, Type: typ, F: history.Write, Key: "k", Grant: p + ".1", Value: p}
	}
	events := []history.Event{w(0, "c1", history.Invoke), w(1, "c1", history.Fail), w(2, "c2", history.Invoke), w(3, "c2", history.Fail), w(4, "c3", history.Invoke), w(5, "c3", history.Info), w(6, "c4", history.Invoke)}
	effects := []history.Effect{{Seq: 1, Time: 1, Process: "c1", F: history.Write, Key: "k", Grant: "c1.1", Value: "c1", Error: "stale"}}
	var kinds []markKind
	for _, m := range newTimeline(Run{}, events, effects).Marks {
		kinds = append(kinds, m.Kind)
	}
	if want := []markKind{markRejected, markFailed, markUnknown, markUnknown, markRefused}; fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
}

func TestFaultBands(t *testing.T) {
	f := func(at int64, name, phase string, nodes ...string) history.Event {
		return history.Event{Time: at, Process: history.Nemesis, Type: history.Info, F: name, Phase: phase, Nodes: nodes, Confirmed: true}
	}
	tl := newTimeline(Run{}, []history.Event{
		f(1, "pause", history.Begin, "a"), f(2, "pause", history.Begin, "b"), f(3, "clock", history.Begin, "a"),
		f(4, "pause", history.End, "a"), f(5, "clock", history.End), f(6, "partition", history.Begin), f(9, "pause", history.End, "c"),
	}, nil)
	var got []string
	for _, b := range tl.Bands {
		got = append(got, fmt.Sprintf("%s %d-%d %v %v", b.Name, b.From, b.To, b.Tracks, b.Healed))
	}
	want := []string{"pause 1-4 [0] true", "pause 2-9 [1] false", "clock 3-5 [0] true", "partition 6-9 [] false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		clip("abcdef", 3): "ab…", clean("a\x00\u202eb\n"): "a\uFFFD\uFFFDb\uFFFD",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
