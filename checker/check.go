package checker

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Check draws the verdict. The same input gives the same verdict, always.
func Check(in Input) Verdict { return CheckContext(context.Background(), in) }

// CheckContext is Check with an end: the properties that are not decided when ctx
// ends are unknown, the others keep their verdicts.
func CheckContext(ctx context.Context, in Input) Verdict { return newIndex(in).verdict(ctx) }

// verdict runs all checks. When ctx ends, the properties that are not decided by
// then are unknown; what was found until then stays.
func (ix *index) verdict(ctx context.Context) Verdict {
	if ix.withoutLock() {
		return ix.verdictWithoutLock(ctx)
	}
	v := Verdict{Properties: map[string]Property{}, Anomalies: []Anomaly{}}
	count := map[string]int{}
	skipped := map[string]bool{}
	kinds := Anomalies()
	for i, f := range finders() {
		property := kinds[i].Property
		if ctx.Err() != nil {
			skipped[property] = true
			continue
		}
		found := f.find(ix)
		count[property] += len(found)
		v.Anomalies = append(v.Anomalies, found...)
	}
	sortAnomalies(v.Anomalies)
	ix.countWithoutLog()
	ix.stats.Waits = ix.waits()
	v.Stats = ix.stats

	for _, name := range Properties {
		p := ix.judge(name, count[name])
		p.Anomalies = count[name]
		if slices.Contains(ix.opt.Require, name) {
			p.Required = true
		}
		if skipped[name] && p.Valid == True {
			p.Valid, p.Why = Unknown, "the time given for checking was over before this was decided"
		}
		v.Properties[name] = p
	}
	if !ix.opt.SkipCrossCheck {
		ix.crossCheck(ctx, &v)
	}
	for _, a := range v.Anomalies {
		if v.Properties[a.Property].Required {
			v.Stats.FirstAnomaly = a.Time
			break
		}
	}
	v.Valid, v.Why = ix.overall(v)
	return v
}

func sortAnomalies(list []Anomaly) {
	rank := map[string]int{}
	for i, a := range Anomalies() {
		rank[a.Name] = i
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := &list[i], &list[j]
		switch {
		case a.Time != b.Time:
			return a.Time < b.Time
		case a.Name != b.Name:
			return rank[a.Name] < rank[b.Name]
		case a.Key != b.Key:
			return a.Key < b.Key
		}
		if c := slices.Compare(a.Events, b.Events); c != 0 {
			return c < 0
		}
		return slices.Compare(a.Effects, b.Effects) < 0
	})
}

// countWithoutLog counts the register's operations where only the clients tell.
func (ix *index) countWithoutLog() {
	if ix.log != nil {
		return
	}
	for _, k := range ix.keys {
		for _, o := range k.ops {
			switch {
			case o.typ == tFail:
				ix.stats.Rejected++
			case o.typ == tOK && o.f != fRead:
				ix.stats.Writes++
				if o.f == fAdd {
					ix.stats.Acknowledged++
				}
			}
		}
	}
}

// judge decides one property from the number of its anomalies, and says in words
// what that rests on.
func (ix *index) judge(name string, anomalies int) Property {
	var p Property
	switch name {
	case Exclusion:
		p = ix.judgeExclusion(anomalies)
	case Belief:
		p = ix.judgeBelief(anomalies)
	case Tokens:
		p = ix.judgeTokens(anomalies)
	case Register:
		p = ix.judgeRegister(anomalies)
	case Liveness:
		p = ix.judgeLiveness(anomalies)
	}
	if anomalies > 0 {
		p.Valid = False
	}
	if k := ix.ambiguous(); k != nil && p.Valid == True && (name == Exclusion || name == Belief) {
		p.Valid, p.Why = Unknown, fmt.Sprintf("the grants of %s say of more than one kind of lock that it is", k.name)
	}
	return p
}

// of writes a count with its noun: "1 grant", "412 grants".
func of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (ix *index) contention() string {
	return fmt.Sprintf("%s, %d contested", of(ix.stats.Grants, "grant"), ix.stats.Contested)
}

func (ix *index) judgeExclusion(anomalies int) Property {
	early := len(ix.findEarly())
	asked, held := ix.askedWhileHeld()
	switch {
	case ix.stats.Grants == 0:
		return Property{Valid: Unknown, Required: true, Why: "the lock was never granted"}
	case anomalies > early:
		why := fmt.Sprintf("%s: %s made while another client held the lock, which nothing excuses", ix.contention(), of(anomalies-early, "grant"))
		if early > 0 {
			why += fmt.Sprintf(", and %d while another lease certainly had time left", early)
		}
		return Property{Required: true, Why: why}
	case anomalies > 0:
		return Property{Required: true, Why: fmt.Sprintf("%s: %s made while another lease certainly had time left", ix.contention(), of(anomalies, "grant"))}
	case held == 0:
		return Property{Valid: Unknown, Why: "of no grant can be said how long it had to last: no lease was promised that was alive when the grant was learnt of, and a fault was on that can have ended it"}
	case asked == 0:
		return Property{Valid: Unknown, Why: ix.contention() + "; nobody asked for the lock while another client held it for certain, so nothing was tried"}
	}
	why := fmt.Sprintf("%s; %s made while another client held the lock for certain, and ", ix.contention(), of(asked, "request")) +
		ix.kept("none was granted before that was over", "never was more granted at once than this kind of lock allows")
	if n := ix.stats.Grants - held; n > 0 {
		why += fmt.Sprintf("; of %s nothing says how long it had to last", of(n, "grant"))
	}
	return Property{Valid: True, Required: true, Why: why}
}

func (ix *index) judgeBelief(anomalies int) Property {
	switch {
	case ix.stats.Grants == 0:
		return Property{Valid: Unknown, Why: "the lock was never granted"}
	case anomalies > 0:
		return Property{Why: fmt.Sprintf("%s: %s made while another client still believed that it held the lock", ix.contention(), of(anomalies, "grant"))}
	}
	if ix.stats.Contested == 0 {
		return Property{Valid: Unknown, Why: ix.contention() + ": nobody else wanted the lock, so nothing was tried"}
	}
	return Property{Valid: True, Why: ix.contention() + "; " + ix.kept("never did two clients believe at once that they held the lock",
		"never did more clients believe at once that they held it than this kind of lock allows")}
}

func (ix *index) judgeTokens(anomalies int) Property {
	with := 0
	for _, k := range ix.keys {
		for _, g := range k.grants {
			if g.token != 0 {
				with++
			}
		}
	}
	switch {
	case ix.stats.Grants == 0:
		return Property{Valid: Unknown, Why: "the lock was never granted"}
	case with == 0:
		return Property{Valid: Unknown, Why: ix.kept("the lock gives no tokens", "tokens are judged of a mutex only")}
	case anomalies > 0:
		return Property{Required: true, Why: fmt.Sprintf("%s: %s out of order", of(with, "token"), of(anomalies, "grant"))}
	case with < ix.stats.Grants:
		return Property{Valid: Unknown, Required: true, Why: fmt.Sprintf("%d of %s carry no token", ix.stats.Grants-with, of(ix.stats.Grants, "grant"))}
	case ix.successions() == 0:
		return Property{Valid: Unknown, Required: true, Why: "no two grants of one lock came for certain one after the other, so that no two tokens could be compared"}
	}
	return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s, each greater than all that were certainly granted before", of(with, "token"))}
}

func (ix *index) judgeRegister(anomalies int) Property {
	ops := 0
	for _, k := range ix.keys {
		ops += len(k.ops)
	}
	share := ""
	if s := ix.stats; s.Acknowledged > 0 && ix.log != nil {
		share = fmt.Sprintf("; %d of %s lost (%s %%)", s.LostUpdates, of(s.Acknowledged, "acknowledged update"), digits(100*float64(s.LostUpdates)/float64(s.Acknowledged)))
	}
	switch {
	case anomalies > 0:
		return Property{Required: true, Why: fmt.Sprintf("%s accepted, %d rejected: %s%s", of(ix.stats.Writes, "write"), ix.stats.Rejected, counted(anomalies), share)}
	case ops == 0 && ix.log == nil:
		return Property{Valid: Unknown, Why: "nothing was read or written under the lock"}
	case ix.log == nil && ops > 0:
		why := "the register's log is missing, so only what the clients saw could be compared; it shows no anomaly"
		return Property{Valid: Unknown, Required: true, Why: why}
	case ix.log.stray > 0:
		return Property{Valid: Unknown, Required: true, Why: fmt.Sprintf("%s in the register's log that no client's history asks for: the history is not whole", of(ix.log.stray, "operation"))}
	case ix.log.lost > 0:
		return Property{Valid: Unknown, Required: true, Why: fmt.Sprintf("%s at the end are missing in the register's log, which may have been cut short", of(ix.log.lost, "acknowledged operation"))}
	case ix.stats.Writes == 0:
		return Property{Valid: Unknown, Required: true, Why: "no write was ever accepted"}
	case ix.turns() == 0:
		return Property{Valid: Unknown, Required: true, Why: "the register was only ever used under one grant, so that no other could spoil it"}
	}
	return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s accepted in the order of their grants, %d rejected; every read saw the latest write%s", of(ix.stats.Writes, "write"), ix.stats.Rejected, share)}
}

func counted(n int) string {
	if n == 1 {
		return "1 anomaly"
	}
	return fmt.Sprintf("%d anomalies", n)
}

func (ix *index) judgeLiveness(anomalies int) Property {
	last := int64(-1)
	open := ""
	for _, f := range ix.faults {
		if f.landed && f.name != Stall {
			last = max(last, f.end)
			if !f.ended {
				open = f.name
			}
		}
	}
	after := 0
	for _, k := range ix.keys {
		for _, g := range k.grants {
			if g.okT > last {
				after++
			}
		}
	}
	failed := ix.failedPrograms()
	switch {
	case anomalies > 0:
		return Property{Required: true, Why: counted(anomalies)}
	case failed != "":
		return Property{Valid: Unknown, Required: true, Why: failed}
	case ix.stats.Grants == 0:
		return Property{Valid: Unknown, Required: true, Why: "the lock was never granted"}
	case last >= 0 && after == 0 && open != "":
		return Property{Valid: Unknown, Required: true, Why: fmt.Sprintf("fault %s was never healed, so nothing shows that the lock comes back", open)}
	case last >= 0 && after == 0:
		return Property{Valid: Unknown, Required: true, Why: "no grant came after the last fault was healed: the run was too short to tell whether the lock comes back"}
	case ix.stats.Contested == 0:
		return Property{Valid: Unknown, Required: true, Why: ix.contention() + ": nobody had to wait for the lock, so nothing was tried"}
	case last >= 0:
		return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s after the last fault was healed; a lock that nobody held was never refused for longer than %s", of(after, "grant"), dur(ix.opt.Bound))}
	}
	return Property{Valid: True, Required: true, Why: fmt.Sprintf("%s; a lock that nobody held was never refused for longer than %s", of(after, "grant"), dur(ix.opt.Bound))}
}

// overall draws the verdict from those on the properties: false if a required one
// is false; true only if something was contested, every requested fault landed
// and every required property was decided.
func (ix *index) overall(v Verdict) (Validity, string) {
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
	case ix.withoutLock():
		if why := ix.uncontested(); why != "" {
			missing = append([]string{why}, missing...)
		}
	case ix.stats.Grants == 0:
		missing = append([]string{"the lock was never granted"}, missing...)
	case ix.stats.Contested == 0:
		missing = append([]string{"no grant was contested: nobody else wanted the lock"}, missing...)
	case v.Properties[Exclusion].Valid == Unknown && v.Properties[Register].Valid == Unknown && len(missing) == 0:
		missing = []string{"neither the lock nor what it protects could be judged: " + v.Properties[Exclusion].Why}
	}
	for _, f := range ix.opt.Faults {
		base := baseName(f)
		if base == "" || base == "none" {
			continue
		}
		landed := 0
		for name, c := range ix.stats.Faults {
			if baseName(name) == base {
				landed += c.Landed
			}
		}
		if landed == 0 {
			missing = append(missing, fmt.Sprintf("fault %s never landed", base))
		}
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
