package checker

import (
	"context"
	"slices"
	"sort"
)

// outOfTime is why a property is unknown whose anomalies were not looked for to the end.
const outOfTime = timeOver + " before this was decided"

const timeOver = "the time given for checking was over"

// moreInTime says so where some were found.
const moreInTime = timeOver + " before all were found"

// Check draws the verdict. The same input gives the same verdict, always.
func Check(in Input) Verdict { return CheckContext(context.Background(), in) }

// CheckContext is Check with an end: the properties that are not decided when ctx
// ends are unknown, the others keep their verdicts.
func CheckContext(ctx context.Context, in Input) Verdict {
	if in.Options.Skew > 0 {
		return verdictWithin(ctx, analyse(ctx, in), analyse(ctx, in.widened()))
	}
	return analyse(ctx, in).verdict(ctx)
}

// verdict runs all checks. When ctx ends, the properties that are not decided by
// then are unknown; what was found until then stays.
func (an *analysis) verdict(ctx context.Context) Verdict {
	if an.cut {
		return an.undecided()
	}
	if an.unlocked {
		return verdictWithoutLock(ctx, an)
	}
	v := Verdict{Properties: map[string]Property{}, Anomalies: []Anomaly{}, Stats: an.stats}
	count, byName := map[string]int{}, map[string]int{}
	skipped := map[string]bool{}
	for _, kind := range Anomalies() {
		if an.limit.ended() {
			skipped[kind.Property] = true
			continue
		}
		found := an.find(kind)
		skipped[kind.Property] = skipped[kind.Property] || an.limit.over // perhaps there are more
		count[kind.Property] += len(found)
		byName[kind.Name] = len(found)
		v.Anomalies = append(v.Anomalies, found...)
	}
	sortAnomalies(v.Anomalies)
	v.Stats.Waits = an.waits.summary()

	for _, j := range judges(byName) {
		p := j.decide(an, count[j.name])
		if slices.Contains(an.opt.Require, j.name) {
			p.Required = true
		}
		if skipped[j.name] && p.Valid == True {
			p.Valid, p.Why = Unknown, outOfTime
		} else if skipped[j.name] && p.Valid == False {
			p.Why += "; " + moreInTime
		}
		v.Properties[j.name] = p
	}
	if !an.opt.SkipCrossCheck {
		crossCheck(ctx, an, &v)
	}
	for _, a := range v.Anomalies {
		if v.Properties[a.Property].Required {
			v.Stats.FirstAnomaly = a.Time
			break
		}
	}
	an.conclude(&v)
	return v
}

// sortAnomalies orders anomalies by time, and those of one instant always the same way.
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
