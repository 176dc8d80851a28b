package results

import "testing"

// A client that was stopped learns of its refusal late: the table goes by time all the
// same, and the picture begins at the first.
func TestRefusedInOrder(t *testing.T) {
	tl := &timeline{End: 10e9, Marks: []mark{
		{Kind: markRejected, At: 6.5e9, Process: "c5", F: "write", Hold: -1},
		{Kind: markUnknown, At: 1e9, Process: "c4", Hold: -1},
		{Kind: markRejected, At: 5.9e9, Process: "c1", F: "write", Hold: -1},
	}}
	rows, count := tl.refused()
	if len(rows) != 2 || rows[0].Who != "c1" || rows[1].Who != "c5" || count != "2 operations" {
		t.Errorf("%+v, %s", rows, count)
	}
	if from, to, refusal := tl.focus(1e9); from != 2.9e9 || to != 6.9e9 || !refusal {
		t.Errorf("the picture goes from %d to %d, refusal %v", from, to, refusal)
	}
}
