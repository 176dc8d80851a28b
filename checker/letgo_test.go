package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// sparing lets go of all that it can, as soon as it can.
func sparing(opt Options, stuck int) *letting {
	l := newLetting(opt, false)
	l.batch, l.sample, l.stuck = 1, func(int) bool { return false }, stuck
	return l
}

// readThrough judges events one by one; false where what was let go was needed after all.
func readThrough(t interface{ Fatal(...any) }, events []history.Event, opt Options, let *letting) (verdict string, letGo int, ok bool) {
	s := newStream(opt, let)
	for i := range events {
		switch err := s.Observe(&events[i]); {
		case errors.Is(err, errLetGo):
			return "", 0, false
		case err != nil:
			t.Fatal(err)
		}
	}
	for _, k := range s.r.locks {
		letGo += k.gone.grants
	}
	text, err := json.Marshal(s.Verdict(context.Background()))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), letGo, true
}

// TestLettingGo: whatever a history is like, the verdict is the same, to the letter, whether
// grants are let go while it is read or all of them are kept.
func TestLettingGo(t *testing.T) {
	n, again, let, grants, broken := 0, 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		events, opt := queue(t)
		want, _, _ := readThrough(t, events, opt, nil)
		got, gone, ok := readThrough(t, events, opt, sparing(opt, rapid.SampledFrom([]int{1, 3, 1 << 14}).Draw(t, "stuck")))
		n++
		if !ok {
			again++
			return
		}
		if let += gone; want != got {
			for _, e := range events {
				line, _ := json.Marshal(e)
				fmt.Println(string(line))
			}
			t.Fatalf("with all kept %s\nwith %d let go %s", want, gone, got)
		}
		var v Verdict
		if err := json.Unmarshal([]byte(want), &v); err != nil {
			t.Fatal(err)
		}
		grants += v.Stats.Grants
		if len(v.Anomalies) > 0 && gone > 0 {
			broken++
		}
	})
	t.Logf("of %d histories %d had to be read again, %d were broken; of %d grants %d were let go", n, again, broken, grants, let)
	if let < grants/10 || broken < n/20 || again > n/2 {
		t.Error("too little is let go for this to show anything")
	}
}

// client is one of the processes of queue.
type client struct {
	name    string
	key     string
	asking  bool
	grants  []string // its own, the latest last
	holds   bool
	leaves  bool // its release is under way
	renews  bool
	writes  string // its value
	n, vals int
	down    bool
	back    bool // it was down, and has done nothing since
}

// queue draws a history of clients that mostly take turns, and of all that can go wrong:
// answers that are late, or never come, or say what is not so; tokens that fall or come
// twice; leases that end; kills, faults and long silences.
func queue(t *rapid.T) ([]history.Event, Options) {
	draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
	rarely := func(n int) bool { return draw(n) == n-1 }
	opt := Options{SkipCrossCheck: true, Bound: 40, TTL: []int64{0, 0, 25}[draw(3)]}
	leases, tokens, held, trouble := draw(3) > 0, draw(3) > 0, draw(2) > 0, []int{6, 25, 120}[draw(3)]
	ops, foreign := rarely(3), rarely(3)
	keys := 1 + draw(2)
	var clients []*client
	for i := range 2 + draw(4) {
		clients = append(clients, &client{name: fmt.Sprintf("c%d", i+1)})
	}
	var events []history.Event
	now, token, ids := int64(0), int64(0), 0
	holder := map[string]*client{}
	lost := map[string]int64{} // by key: until when the lease of one that is gone may last
	cut := []history.Event(nil)
	since := map[string]int64{}
	put := func(e history.Event) {
		e.Time, e.Index = now, int64(len(events))
		events = append(events, e)
	}
	for range rapid.IntRange(20, 160).Draw(t, "steps") {
		now += int64(draw(3))
		if rarely(4 * trouble) {
			now += int64(30 + draw(60))
		}
		if rarely(trouble) { // the nemesis
			switch {
			case len(cut) > 0 && draw(2) == 0:
				e := cut[0]
				cut, e.Phase = cut[1:], history.End
				put(e)
				for _, c := range clients {
					if e.F == "kill" && e.Nodes[0] == c.name {
						c.down, c.back = false, true
					}
				}
			case draw(3) == 0:
				c := clients[draw(len(clients))]
				if c.down {
					continue
				}
				e := history.Event{Process: history.Nemesis, Type: history.Info, F: "kill", Nodes: []string{c.name}, Phase: history.Begin, Landed: draw(3) > 0}
				put(e)
				cut, c.down = append(cut, e), true
				if holder[c.key] == c {
					lost[c.key] = now + int64(draw(30))
					holder[c.key] = nil
				}
				if c.asking || c.holds || c.leaves || c.renews || c.writes != "" {
					c.asking, c.holds, c.leaves, c.renews, c.writes = c.asking && rarely(2), false, false, false, ""
				}
			default:
				e := history.Event{Process: history.Nemesis, Type: history.Info, F: []string{"pause", "partition", "clock"}[draw(3)], Phase: history.Begin, Landed: draw(3) > 0}
				if draw(3) > 0 {
					e.Nodes = []string{[]string{"c1", "c2", "server", "c9"}[draw(4)]}
				}
				put(e)
				cut = append(cut, e)
			}
			continue
		}
		c := clients[draw(len(clients))]
		if c.down && !rarely(3) {
			continue
		}
		wild := rarely(trouble)
		answer := func() history.Type {
			if rarely(trouble) {
				return []history.Type{history.Fail, history.Info}[draw(2)]
			}
			return history.OK
		}
		latest := ""
		if n := len(c.grants); n > 0 {
			latest = c.grants[n-1]
		}
		give := func(e history.Event) history.Event {
			e.Key = c.key
			if leases {
				e.Lease, e.Since = int64(5+draw(30)), max(since[c.name], now-int64(draw(6)))
				if wild {
					e.Since = since[c.name]
				}
			}
			return e
		}
		switch {
		case c.asking:
			h := holder[c.key]
			free := h == nil && lost[c.key] <= now
			switch {
			case !free && !wild && !rarely(trouble):
				if rarely(5) {
					put(history.Event{Process: c.name, Type: []history.Type{history.Fail, history.Fail, history.Fail, history.Info}[draw(4)], F: history.Acquire, ClientFailed: rarely(9)})
					c.asking = false
				}
				continue
			}
			c.n++
			ids++
			id := fmt.Sprintf("%s.%d", c.name, c.n)
			if foreign {
				id = fmt.Sprintf("g%d", ids)
			}
			e := give(history.Event{Process: c.name, Type: history.OK, F: history.Acquire, Grant: id})
			if tokens {
				token++
				e.Token = token
				switch {
				case wild && rarely(2):
					e.Token = max(1, token-int64(draw(4)))
				case rarely(5 * trouble):
					e.Token = 0
				}
			}
			put(e)
			c.asking, c.holds, c.grants, holder[c.key] = false, true, append(c.grants, id), c
		case c.leaves:
			e := history.Event{Process: c.name, Type: answer(), F: history.Release, Grant: latest}
			e.Held = e.Type == history.OK && held && !wild
			put(e)
			c.leaves = false
		case c.renews:
			e := give(history.Event{Process: c.name, Type: answer(), F: history.Renew, Grant: latest})
			e.Held = held && draw(2) == 0 && e.Type == history.OK
			put(e)
			c.renews = false
		case c.writes != "" && (!c.holds || draw(3) > 0):
			put(history.Event{Process: c.name, Type: answer(), F: history.Write, Grant: latest, Value: c.writes})
			c.writes = ""
		case latest != "" && c.back && draw(2) == 0: // it learns of what was while it was down
			c.back = false
			put(history.Event{Process: c.name, Type: history.Info, F: history.Lost, Grant: latest})
		case latest != "" && c.back && draw(2) == 0:
			c.back, c.leaves = false, true
			put(history.Event{Process: c.name, Type: history.Invoke, F: history.Release, Grant: latest})
		case wild && latest != "" && draw(4) == 0:
			put(history.Event{Process: c.name, Type: history.Info, F: history.Lost, Grant: latest})
			if holder[c.key] == c && draw(2) == 0 {
				holder[c.key] = nil
			}
		case wild && latest != "" && rarely(4): // of any grant that it ever had
			id := c.grants[draw(len(c.grants))]
			if draw(2) == 0 {
				e := give(history.Event{Process: c.name, Type: history.OK, F: history.Renew, Grant: id})
				e.Key = ""
				put(e)
			} else {
				put(history.Event{Process: c.name, Type: history.Info, F: history.Lost, Grant: id})
			}
		case wild && latest != "" && rarely(3):
			put(history.Event{Process: c.name, Type: history.Invoke, F: history.Release, Grant: latest})
			c.leaves = true
		case c.holds && rarely(6):
			put(history.Event{Process: c.name, Type: history.Invoke, F: history.Renew, Grant: latest})
			c.renews = true
		case c.holds && ops && c.writes == "" && draw(2) == 0:
			c.vals++
			c.writes = fmt.Sprintf("%s.%d", latest, c.vals)
			put(history.Event{Process: c.name, Type: history.Invoke, F: history.Write, Grant: latest, Value: c.writes})
		case c.holds:
			c.holds = false
			if holder[c.key] == c {
				holder[c.key] = nil
			}
			if wild && draw(2) == 0 {
				lost[c.key] = now + int64(draw(30))
				continue // it never gives it back
			}
			put(history.Event{Process: c.name, Type: history.Invoke, F: history.Release, Grant: latest})
			c.leaves = true
		default:
			c.key, c.asking, c.vals = fmt.Sprintf("k%d", draw(keys)), true, 0
			since[c.name] = now
			put(history.Event{Process: c.name, Type: history.Invoke, F: history.Acquire, Key: c.key})
		}
	}
	out := events[:0]
	var sound history.Validator
	var twice history.Duplicates
	for _, e := range events {
		e.Index = int64(len(out))
		if err := errors.Join(twice.Check(&e), sound.Check(&e)); err != nil {
			t.Skip(err.Error())
		}
		out = append(out, e)
	}
	return out, opt
}
