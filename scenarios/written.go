package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// written is the event as a scenario's file has it.
func (a *Await) written() string {
	var out string
	switch e := a.event(); {
	case e.form == nil:
		out = a.Client + " " + a.What
	case a.What == moveEvent.what:
		out = a.Move.String()
	case a.What == faultEvent.what && a.Fault.Over:
		out = a.Fault.String() + " over"
	case a.What == faultEvent.what:
		out = a.Fault.String() + " on"
	case a.What == syncedEvent.what:
		out = all(a.Servers) + " synced"
	case a.What == "lease":
		out = "lease of " + a.Client + " over"
	case a.What == "after" && a.Since == leaseOver && a.For < 0:
		out = fmt.Sprintf("%v before lease of %s over", -a.For, a.Client)
	case a.What == "after" && a.Since == leaseOver:
		out = fmt.Sprintf("%v after lease of %s over", a.For, a.Client)
	case a.What == "after":
		out = fmt.Sprintf("%v after %s %s", a.For, a.Client, a.Since)
	case a.What == "key":
		out = "key on " + all(a.Servers)
	case a.What == "gone":
		out = "key gone on " + all(a.Servers)
	case a.What == "quiet":
		out = fmt.Sprintf("quiet %v", a.For)
	case a.What == "queued":
		out = fmt.Sprintf("%d queued", a.N)
	case a.What == "fewer":
		out = fmt.Sprintf("at most %d queued", a.N)
	case a.What == "request" && a.N == 1:
		out = "request at " + all(a.Servers)
	case a.What == "request":
		out = fmt.Sprintf("%d requests at %s", a.N, all(a.Servers))
	case a.What == "message" && a.N == 1:
		out = fmt.Sprintf("message from %s to %s", all(a.From), all(a.Servers))
	case a.What == "message":
		out = fmt.Sprintf("%d messages from %s to %s", a.N, all(a.From), all(a.Servers))
	}
	if a.Or.some() {
		out += " or " + a.Or.String()
	}
	if a.Within.some() {
		out += within(a.Within, a.Reason)
	}
	return out
}

// all names nodes as an event does: a comma would end a move.
func all(nodes []string) string { return strings.Join(nodes, " and ") }

// Write renders a scenario whose clients carry out programs as its file, which Parse reads
// back. Comments, each a line, go before it.
func (s *Scenario) Write(comments ...string) []byte {
	var b strings.Builder
	for _, c := range comments {
		fmt.Fprintf(&b, "# %s\n", strings.Join(strings.Fields(c), " "))
	}
	fmt.Fprintf(&b, "name: %s\nabout: %s\n", s.Name, quoted(s.About))
	list := func(name string, words []string) {
		if len(words) > 0 {
			for i := range words {
				words[i] = quoted(words[i])
			}
			fmt.Fprintf(&b, "%s: [%s]\n", name, strings.Join(words, ", "))
		}
	}
	if s.Source != "" {
		fmt.Fprintf(&b, "source: %s\n", quoted(s.Source))
	}
	list("locks", append([]string{}, s.Locks...))
	list("fencing", append([]string{}, s.Fencing...))
	if s.Cluster != "" {
		fmt.Fprintf(&b, "cluster: %s\n", quoted(s.Cluster))
	}
	if s.Folder != "" {
		fmt.Fprintf(&b, "folder: %s\n", quoted(s.Folder))
	}
	if s.Runtime != "" {
		fmt.Fprintf(&b, "runtime: %s\n", s.Runtime)
	}
	if len(s.Extra) > 0 {
		b.WriteString("options:\n")
		for _, k := range slices.Sorted(maps.Keys(s.Extra)) {
			fmt.Fprintf(&b, "  %s: %s\n", quoted(k), quoted(s.Extra[k]))
		}
	}
	fmt.Fprintf(&b, "ttl: %v\n", s.TTL)
	if s.Lease > 0 {
		fmt.Fprintf(&b, "lease: %v\n", s.Lease)
	}
	if s.Bound > 0 {
		fmt.Fprintf(&b, "bound: %v\n", s.Bound)
	}
	if s.Timeout > 0 {
		fmt.Fprintf(&b, "timeout: %v\n", s.Timeout)
	}
	if s.IgnoreLost {
		b.WriteString("ignore-lost: true\n")
	}
	if s.Replay != "" {
		fmt.Fprintf(&b, "replay: %s\n", quoted(s.Replay))
	}
	b.WriteString("clients:\n")
	for _, c := range s.Clients {
		fmt.Fprintf(&b, "  %s: %s\n", c, s.Programs[c])
	}
	if len(s.TriggeredFaults) > 0 {
		b.WriteString("faults:\n")
	}
	for _, st := range s.TriggeredFaults {
		word, rest, _ := strings.Cut(st.Fault.Text, ": ")
		fmt.Fprintf(&b, "  - when: %s\n    %s: %s\n", st.When, word, rest)
		if !st.Fault.momentary() {
			fmt.Fprintf(&b, "    until: %s\n", st.Until)
		}
	}
	if len(s.Counts) > 0 {
		b.WriteString("count:\n")
	}
	for _, st := range s.Counts {
		fmt.Fprintf(&b, "  - what: %s\n    when: %s\n    until: %s\n", st.Fault.Word, st.When, st.Until)
	}
	if len(s.Expect) > 0 {
		b.WriteString("expect:\n")
	}
	for _, e := range s.Expect {
		want := "valid"
		if len(e.Must) > 0 {
			want = "[" + strings.Join(e.Must, ", ") + "]"
		}
		if len(e.Not) > 0 {
			want = fmt.Sprintf("{not: [%s]}", strings.Join(e.Not, ", "))
			if len(e.Must) > 0 {
				want = fmt.Sprintf("{must: [%s], not: [%s]}", strings.Join(e.Must, ", "), strings.Join(e.Not, ", "))
			}
		} else if len(e.May) > 0 {
			want = fmt.Sprintf("{must: %s, may: [%s]}", want, strings.Join(e.May, ", "))
		}
		fmt.Fprintf(&b, "  %s: %s\n", quoted(e.Lock), want)
	}
	return []byte(b.String())
}

// quoted is a YAML text that is always read back as that text.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == "" && strings.ContainsAny(s[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") && s != "true" && s != "false" && s != "null" && s != "yes" && s != "no" && s != "on" && s != "off" && s != "y" && s != "n" {
		return s
	}
	return fmt.Sprintf("%q", s)
}
