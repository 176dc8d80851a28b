package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
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
		fmt.Fprintf(&b, "  %s: %s\n", c, phrase(s.Programs[c].String()))
	}
	if len(s.TriggeredFaults) > 0 {
		b.WriteString("faults:\n")
	}
	for _, st := range s.TriggeredFaults {
		word, rest, _ := strings.Cut(st.Fault.Text, ": ")
		fmt.Fprintf(&b, "  - when: %s\n    %s: %s\n", phrase(st.When.String()), word, phrase(rest))
		if !st.Fault.momentary() {
			fmt.Fprintf(&b, "    until: %s\n", phrase(st.Until.String()))
		}
	}
	if len(s.Counts) > 0 {
		b.WriteString("count:\n")
	}
	for _, st := range s.Counts {
		fmt.Fprintf(&b, "  - what: %s\n    when: %s\n    until: %s\n", st.Fault.Word, phrase(st.When.String()), phrase(st.Until.String()))
	}
	if len(s.Expect) > 0 {
		b.WriteString("expect:\n")
	}
	for i := range s.Expect {
		e := &s.Expect[i]
		begins := i == 0 || s.Expect[i-1].Lock != e.Lock
		alone := begins && (i+1 == len(s.Expect) || s.Expect[i+1].Lock != e.Lock)
		switch {
		case alone && e.Fencing == Every:
			fmt.Fprintf(&b, "  %s: %s\n", quoted(e.Lock), e.written())
			continue
		case begins:
			fmt.Fprintf(&b, "  %s:\n", quoted(e.Lock))
		}
		fmt.Fprintf(&b, "    %s: %s\n", quoted(e.Fencing), e.written())
	}
	return []byte(b.String())
}

// written is what is expected, as a scenario's file has it.
func (e *Expectation) written() string {
	list := func(names []string) string { return "[" + strings.Join(names, ", ") + "]" }
	must := "valid"
	if len(e.Must) > 0 {
		must = list(e.Must)
	}
	var fields []string
	if len(e.Must) > 0 || len(e.Not) == 0 {
		fields = append(fields, "must: "+must)
	}
	if len(e.May) > 0 {
		fields = append(fields, "may: "+list(e.May))
	}
	if len(e.Not) > 0 {
		fields = append(fields, "not: "+list(e.Not))
	}
	if len(e.Counts) > 0 {
		var counts []string
		for _, name := range sortedKeys(e.Counts) {
			counts = append(counts, fmt.Sprintf("%s: %d", quoted(name), e.Counts[name]))
		}
		fields = append(fields, "counts: {"+strings.Join(counts, ", ")+"}")
	}
	if len(fields) == 1 && len(e.Not) == 0 {
		return must
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// phrase is a program, a fault or an event as a YAML text that is read back as that text: in quotes
// where a word of it, such as a reason, would else begin a mapping or a comment.
func phrase(s string) string {
	if strings.Contains(s, ": ") || strings.HasSuffix(s, ":") || strings.Contains(s, " #") || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// quoted is a YAML text that is always read back as that text.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == "" && strings.ContainsAny(s[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") && s != "true" && s != "false" && s != "null" && s != "yes" && s != "no" && s != "on" && s != "off" && s != "y" && s != "n" {
		return s
	}
	return fmt.Sprintf("%q", s)
}
