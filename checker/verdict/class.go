package verdict

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

// Class is what kind of failure a group of anomalies is.
type Class string

const (
	// Bug is a lock bug: the lock broke what it promises.
	Bug Class = "bug"
	// Hazard is a lease hazard: what any lease does whose client is paused, cut off or slow for
	// longer than it lasts. Only the resource can refuse it, by fencing
	// (Kleppmann, How to do distributed locking, 2016).
	Hazard Class = "hazard"
	// ResourceFault is a fault of the resource: the lock had no part in it.
	ResourceFault Class = "resource"
)

// Class says which kind the group is. What two interleaved critical sections show by themselves is no bug:
// where the lock let two in, a broken exclusion is the deeper cause and stands in its own group.
func (g Group) Class() Class {
	line := info(g.Name)
	if line == nil {
		return Bug
	}
	switch c := line.cause(g.Cause); {
	case c != nil && c.Resource:
		return ResourceFault
	case !line.Hazard || c != nil && c.Bug:
		return Bug
	}
	return Hazard
}

// Failures counts the root causes that decide the verdict, by their class.
func (v Verdict) Failures() (bugs, hazards, resource int) {
	if v.Valid != False {
		return 0, 0, 0
	}
	for _, g := range v.Groups() {
		switch {
		case !g.Required:
		case g.Class() == Hazard:
			hazards++
		case g.Class() == ResourceFault:
			resource++
		default:
			bugs++
		}
	}
	return bugs, hazards, resource
}

// Class is the gravest class of the failures that decide the verdict; "" if it is no fail.
func (v Verdict) Class() Class {
	switch bugs, hazards, resource := v.Failures(); {
	case bugs > 0:
		return Bug
	case resource > 0:
		return ResourceFault
	case hazards > 0:
		return Hazard
	}
	return ""
}

// Title is the class as people read it.
func (c Class) Title() string {
	return map[Class]string{Bug: "lock bug", Hazard: "lease hazard", ResourceFault: "fault of the resource"}[c]
}

// Word is the verdict in a word, with what failed.
func (v Verdict) Word() string {
	if v.Valid == False {
		return Failed(v.Failures())
	}
	return v.Valid.Word()
}

// Word is a verdict in one word.
func (v Validity) Word() string {
	return map[Validity]string{True: "PASS", False: "FAIL", Unknown: "UNKNOWN"}[v]
}

// Failed says how many failures of each class there are. Those of the resource are named only if there are any.
func Failed(bugs, hazards, resource int) string {
	text := fmt.Sprintf("%s: %d %s, %d %s", False.Word(), bugs, format.Noun(bugs, "lock bug", "lock bugs"), hazards, format.Noun(hazards, "lease hazard", "lease hazards"))
	if resource > 0 {
		text += fmt.Sprintf(", %d %s of the resource", resource, format.Noun(resource, "fault", "faults"))
	}
	return text
}
