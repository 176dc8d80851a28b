package hunt

import (
	"regexp"
	"slices"
	"strings"

	"github.com/picklock/picklock/scenarios"
)

var clientName = regexp.MustCompile(`\b[A-E]\b`)

// renamed is a text of a schedule in which clients have each other's names.
func renamed(text string, names map[string]string) string {
	return clientName.ReplaceAllStringFunc(text, func(c string) string {
		if n, ok := names[c]; ok {
			return n
		}
		return c
	})
}

// swaps are the ways to give the clients each other's names after which they do what they
// did before: what a fault does to one of them it does to the other.
func swaps(programs []scenarios.Program) []map[string]string {
	var out []map[string]string
	var next func(names map[string]string, free []string)
	next = func(names map[string]string, free []string) {
		i := len(names)
		if i == len(programs) {
			for j, p := range programs {
				k := slices.Index(clientNames, names[clientNames[j]])
				if renamed(p.String(), names) != programs[k].String() {
					return
				}
			}
			all := map[string]string{}
			for k, v := range names {
				all[k] = v
			}
			out = append(out, all)
			return
		}
		for j, n := range free {
			names[clientNames[i]] = n
			next(names, slices.Delete(slices.Clone(free), j, j+1))
			delete(names, clientNames[i])
		}
	}
	next(map[string]string{}, clientNames[:len(programs)])
	return out
}

// same is one text for all sets of faults that are the same but for the names of clients
// that do the same.
func (w workload) same(triggered []scenarios.TriggeredFault) string {
	least := ""
	for _, names := range w.swaps {
		words := make([]string, len(triggered))
		for i, st := range triggered {
			words[i] = renamed(st.String(), names)
		}
		slices.Sort(words)
		if text := strings.Join(words, "|"); least == "" || text < least {
			least = text
		}
	}
	return least
}
