package results

import "testing"

// A client that was stopped learns of its refusal late: the table goes by time all the
// same, and the picture begins at the first.
func TestRefusedInOrder(t *testing.T) {
	tl := &timeline{End: 10e9, Tracks: make([]track, 1), Marks: []mark{
		{Kind: markRejected, At: 6.5e9, Process: "c5", F: "write", Hold: -1},
		{Kind: markUnknown, At: 1e9, Process: "c4", Hold: -1},
		{Kind: markRejected, At: 5.9e9, Process: "c1", F: "write", Hold: -1},
	}}
	rows, count := tl.refused()
	if len(rows) != 2 || rows[0].Who != "c1" || rows[1].Who != "c5" || count != "2 operations" {
		t.Errorf("%+v, %s", rows, count)
	}
	if f := tl.focus(1e9); f.From != 2.9e9 || f.To != 6.9e9 || f.What != focusRefusal {
		t.Errorf("the picture is %+v", f)
	}
}

// Where nothing broke and nothing was refused, the first view is of the first time that
// one client waited for another, and not of the quiet beginning.
func TestTheFirstViewIsOfContention(t *testing.T) {
	held := func(track int, from, to int64) hold { return hold{Track: track, From: from * ms, To: to * ms} }
	asked := func(track int, from, to int64) wait { return wait{Track: track, From: from * ms, To: to * ms} }
	tl := &timeline{End: 90_000 * ms, Tracks: make([]track, 30),
		Holds: []hold{held(0, 10, 20), held(1, 30_000, 30_050), held(2, 30_060, 30_100)},
		Waits: []wait{asked(0, 1, 10), asked(1, 29_990, 30_000), asked(2, 30_010, 30_060)}}
	f := tl.focus(1e9)
	if f.What != focusContention || f.From > 30_000*ms || f.From < 29_900*ms || f.To != 30_100*ms {
		t.Errorf("the first view is %+v", f)
	}
	if len(f.Tracks) != 2 || f.Tracks[0] != 1 || f.Tracks[1] != 2 {
		t.Errorf("tracks %v", f.Tracks)
	}
	tl.Waits = nil
	if f := tl.focus(1e9); f.What != focusStart || f.From != 0 || f.To != 10_000*ms {
		t.Errorf("without contention the first view is %+v", f)
	}
}
