package checker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// conclude draws the verdict, and the one on the lock's promises. What is only hazards, or the
// resource's own faults, says nothing of those: all else has to have been decided, and exclusion to have been tried.
func (an *analysis) conclude(v *Verdict) {
	v.Valid, v.Why = an.overall(*v)
	v.Promises = v.Valid
	if bugs, hazards, resource := v.Failures(); v.Valid != False || bugs > 0 || hazards+resource == 0 {
		return
	}
	rest := *v
	rest.Properties = maps.Clone(v.Properties)
	for name, p := range rest.Properties {
		switch {
		case p.Valid != False:
		case strings.Contains(p.Why, timeOver): // nobody has looked for what else broke it
			p.Valid = Unknown
		default:
			p.Valid = True
		}
		rest.Properties[name] = p
	}
	v.Promises, v.PromisesWhy = an.overall(rest)
	if p := v.Properties[Exclusion]; v.Promises == True && p.Valid != True {
		v.Promises, v.PromisesWhy = Unknown, Exclusion+": "+p.Why
	}
}

// overall draws the verdict from those on the properties: false if a required one
// is false; true only if something was contested, every requested fault was confirmed
// and every required property was decided.
func (an *analysis) overall(v Verdict) (Validity, string) {
	var broken, missing []string
	for _, name := range Properties {
		p := v.Properties[name]
		switch {
		case p.Required && p.Valid == False:
			broken = append(broken, name)
		case p.Required && p.Valid == Unknown:
			missing = append(missing, name+": "+p.Why)
		}
	}
	if len(broken) > 0 {
		return False, "broken: " + strings.Join(broken, ", ")
	}
	switch {
	case an.unlocked:
		if why := uncontested(&an.stats); why != "" {
			missing = append([]string{why}, missing...)
		}
	case an.stats.Grants == 0:
		why := "the lock was never granted"
		if said := an.refusals.words(); said != "" {
			why += ": " + said
		}
		missing = append([]string{why}, missing...)
	case an.stats.Contested == 0:
		missing = append([]string{"no grant was contested: " + whyUncontested(an, "nobody else wanted the lock")}, missing...)
	case v.Properties[Exclusion].Valid == Unknown && v.Properties[Register].Valid == Unknown && len(missing) == 0:
		missing = []string{"neither the lock nor what it protects could be judged: " + v.Properties[Exclusion].Why}
	}
	for _, f := range an.opt.Faults {
		base := baseName(f)
		if base == "" || base == "none" {
			continue
		}
		confirmed := 0
		for name, c := range an.stats.Faults {
			if baseName(name) == base {
				confirmed += c.Confirmed
			}
		}
		if confirmed == 0 {
			missing = append(missing, fmt.Sprintf("fault %s never took effect", base))
		}
	}
	if len(an.opt.Faults) == 0 { // the history says itself which faults were tried
		for _, name := range slices.Sorted(maps.Keys(an.stats.Faults)) {
			if c := an.stats.Faults[name]; c.Injected > 0 && c.Confirmed == 0 && baseName(name) != Stall {
				missing = append(missing, fmt.Sprintf("fault %s was never confirmed to take effect", name))
			}
		}
	}
	if why := an.asked.unanswered(); an.opt.Renew && why != "" {
		missing = append(missing, why)
	}
	if len(missing) > 0 {
		return Unknown, strings.Join(missing, "; ")
	}
	why := ""
	for _, name := range Properties {
		if p := v.Properties[name]; !p.Required && p.Valid == Unknown {
			why += fmt.Sprintf("; %s not judged: %s", name, p.Why)
		}
	}
	return True, strings.TrimPrefix(why, "; ")
}
