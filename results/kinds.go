package results

import "github.com/picklock/picklock/checker"

// kindPromises are what a lock that is no mutex promises, by its kind and the property.
var kindPromises = map[string]map[string]string{
	"semaphore": {
		checker.Exclusion: "The service never grants a permit while all are out on leases that have time left.",
		checker.Belief:    "Never do more clients believe at once that they hold a permit than there are.",
	},
	"rw": {
		checker.Exclusion: "The service never grants the lock to a writer while any other lease has time left, nor to a reader while a writer's has.",
		checker.Belief:    "No client believes that it holds the lock while a writer believes so.",
	},
	"reentrant": {
		checker.Exclusion: "The service never grants the lock while another process's lease on any entry of it has time left.",
	},
}

// promiseOf says what a property promises of the lock of a run.
func promiseOf(run Run, property string) string {
	if p, ok := kindPromises[run.Kind][property]; ok {
		return p
	}
	return promises[property]
}
