package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestLettingGoSmall: histories in which one thing decides whether the verdict is the same,
// and that are not to be read again. A line is time, process, type, f, and what else an
// event says.
func TestLettingGoSmall(t *testing.T) {
	for name, text := range map[string]string{
		"one that was killed learns of its loss": `
			0 u invoke acquire
			1 u ok acquire grant=u.1 since=0 lease=100
			2 nemesis info kill
			3 y invoke acquire
			20 y ok acquire grant=y.1 since=3 lease=5
			20 u info lost grant=u.1
			30 z invoke acquire
			40 z fail acquire
			41 y invoke release grant=y.1
			42 y ok release grant=y.1
			45 w invoke acquire
			50 w ok acquire grant=w.1 since=45 lease=5
			51 w invoke release grant=w.1
			52 w ok release grant=w.1`,
		"the first to ask is the last to get it": `
			0 a invoke acquire
			1 b invoke acquire
			2 b ok acquire grant=b.1 token=1
			3 b invoke release grant=b.1
			4 b ok release grant=b.1
			5 c invoke acquire
			6 c ok acquire grant=c.1 token=2
			7 c invoke release grant=c.1
			8 c ok release grant=c.1
			9 b invoke acquire
			10 b ok acquire grant=b.2 token=3
			11 b invoke release grant=b.2
			12 b ok release grant=b.2
			13 a ok acquire grant=a.1 token=4`,
		"one that was killed is answered after all": `
			0 u invoke acquire
			1 nemesis info kill
			2 y invoke acquire
			3 y ok acquire grant=y.1 since=2 lease=90
			5 y invoke release grant=y.1
			6 y ok release grant=y.1
			7 w invoke acquire
			8 w ok acquire grant=w.1 since=7 lease=90
			10 u fail acquire
			11 w invoke release grant=w.1
			12 w ok release grant=w.1`,
		"an answer is late": `
			0 a invoke acquire
			1 b invoke acquire
			2 b ok acquire grant=b.1 token=1 since=1 lease=9
			3 b invoke release grant=b.1
			4 b ok release grant=b.1
			15 c invoke acquire
			16 c ok acquire grant=c.1 token=3 since=15 lease=9
			17 c invoke release grant=c.1
			18 c ok release grant=c.1
			19 b invoke acquire
			20 b ok acquire grant=b.2 token=4 since=19 lease=9
			21 a ok acquire grant=a.1 token=2 since=5 lease=9`,
	} {
		t.Run(name, func(t *testing.T) {
			var events []history.Event
			for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
				e := history.Event{Index: int64(i), Key: "k"}
				words := strings.Fields(line)
				_, _ = fmt.Sscan(words[0], &e.Time)
				e.Process, e.Type, e.F = words[1], history.Type(words[2]), words[3]
				for _, w := range words[4:] {
					member, value, _ := strings.Cut(w, "=")
					switch member {
					case "grant":
						e.Grant = value
					case "token":
						_, _ = fmt.Sscan(value, &e.Token)
					case "since":
						_, _ = fmt.Sscan(value, &e.Since)
					case "lease":
						_, _ = fmt.Sscan(value, &e.Lease)
					}
				}
				if e.Process == history.Nemesis {
					e.Key, e.Phase, e.Nodes, e.Landed = "", history.Begin, []string{"u"}, true
				}
				events = append(events, e)
			}
			opt := Options{SkipCrossCheck: true, Bound: 1000}
			want, _, _ := readThrough(t, events, opt, nil)
			stuck := 1 << 14
			if strings.Contains(name, "killed is answered") {
				stuck = 1 // or nothing is decided before the answer
			}
			if got, _, ok := readThrough(t, events, opt, sparing(opt, stuck)); !ok || got != want {
				t.Errorf("read to the end: %v\nwith all kept %s\notherwise     %s", ok, want, got)
			}
		})
	}
}
