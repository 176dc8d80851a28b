package hunt

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// releases says that a client releases the lock in the schedule.
func releases(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.Programs["A"], func(m scenarios.Move) bool { return m.Do == history.Release })
}

// A lock that deletes anybody's key breaks by whatever makes A's release come late: one bug, with
// the least schedule first and the others under it.
func TestOneBugOneCounterexample(t *testing.T) {
	m := &model{bugs: []bug{
		{"wrong-release", "", both(releases, struck("pause", "A"))},
		{"wrong-release", "", both(releases, struck("kill", "redis"))},
		{"wrong-release", "", both(releases, struck("hold", "A"))},
		{"granted-early", "", struck("pause", "A")},
	}}
	h, _ := search(t, m, Options{Target: target(1, 1, "pause:client", "kill:server", "hold:client"), Depth: 1}, 2)
	if err := h.Finish(t.Context(), []Runner{m, m}, FinishOptions{Replays: 5, Time: time.Minute}); err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, w := range h.result.Counterexamples {
		of = append(of, w.Anomaly)
		if w.Anomaly != "wrong-release" {
			if len(w.Variants) > 0 {
				t.Errorf("%s has variants: its schedules need no act that others need", w)
			}
			continue
		}
		kinds := []string{w.Takes()}
		for _, v := range w.Variants {
			kinds = append(kinds, v.Takes())
			if v.Faults < w.Faults || v.Faults == w.Faults && v.Steps < w.Steps || !strings.HasPrefix(v.Name, w.Name+"-variant-") || !strings.Contains(v.Schedule, "name: "+v.Name+"\n") {
				t.Errorf("the variant %s (%s): %d faults, %d steps; of %s: %d, %d", v.Name, v, v.Faults, v.Steps, w.Name, w.Faults, w.Steps)
			}
		}
		for _, want := range []string{"a pause of a client", "a crash of a server", "one slow request"} {
			if !slices.Contains(kinds, want) {
				t.Errorf("no variant by %s among %q", want, kinds)
			}
		}
	}
	slices.Sort(of)
	if !slices.Equal(of, []string{"granted-early", "granted-early", "wrong-release"}) {
		t.Errorf("%q", of)
	}
}

// seenOnce is a counterexample that never came again.
func seenOnce(w *Counterexample) *Counterexample {
	w.Search.Hits = 1
	return w
}

func TestSameBug(t *testing.T) {
	of := func(anomaly, cause string, acts ...Act) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: anomaly, Cause: cause}, Acts: acts, Search: Rate{Hits: 4, Runs: 4}}
	}
	needed, beside := Rate{Runs: withoutActRuns}, Rate{Hits: 1, Runs: 1}
	release := func(without Rate) Act { return Act{Client: "A", Do: history.Release, Nth: 1, Without: without} }
	own := release(needed)
	own.ByHolder = true
	renewal := Act{Client: "A", Do: history.Renew, Nth: 1, Without: needed}
	other := Act{Client: "C", Do: history.Release, Nth: 2, Without: needed}
	// seen is what came once, with a release of A under way, or one of B, whose grant ended too soon.
	seen := func(by ...string) *Counterexample {
		w := of("granted-early", "granted-early")
		w.Search.Hits = 1
		w.Evidence = &Evidence{Anomaly: verdict.Anomaly{Grants: []string{"B.1", "C.1"}}, Events: []history.Event{
			{Time: 1e6, Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1"}}}
		for _, c := range by {
			w.Evidence.Events = append(w.Evidence.Events, history.Event{Time: 4e6, Process: c, F: history.Release, Type: history.Invoke})
		}
		w.Evidence.Events = append(w.Evidence.Events, history.Event{Time: 9e6, Process: "C", F: history.Acquire, Type: history.OK, Grant: "C.1"})
		return w
	}
	by := func(anomaly, kind string) *Counterexample {
		w := of(anomaly, "")
		w.Kinds = []string{kind}
		return w
	}
	// answer is an answer that said so of a lock which its client no longer held.
	answer := func(cause string, hits int) *Counterexample {
		w := of("false-belief", cause)
		w.Search.Hits = hits
		w.Evidence = &Evidence{Anomaly: verdict.Anomaly{Name: "false-belief", Cause: cause, Grants: []string{"A.1", "B.1"}}}
		return w
	}
	freed := func(hits int) *Counterexample {
		w := of("wrong-release", "")
		w.Search.Hits = hits
		w.Evidence = &Evidence{Anomaly: verdict.Anomaly{Name: "wrong-release", Grants: []string{"A.1", "B.1", "C.1"}}}
		return w
	}
	// confirmed adds the release of A.1 to what a counterexample needs: when it was answered, and whether the lock confirmed it.
	confirmed := func(w *Counterexample, at int64, held bool) *Counterexample {
		if w.Evidence == nil {
			w.Evidence = &Evidence{Anomaly: verdict.Anomaly{Name: "granted-early", Grants: []string{"A.1", "B.1"}}}
		}
		w.Evidence.Anomaly.Property = verdict.Exclusion
		w.Evidence.Anomaly.Events = []int64{7}
		w.Evidence.Events = append(w.Evidence.Events,
			history.Event{Index: 3, Time: 5e6, Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1"},
			history.Event{Index: 7, Time: at, Process: "A", F: history.Release, Type: history.OK, Grant: "A.1", Held: held})
		return w
	}
	// raced are the grants of one lock, of which B asked at since for the one that it got at at.
	raced := func(w *Counterexample, since, at int64) *Counterexample {
		w.Evidence = &Evidence{Anomaly: verdict.Anomaly{Name: w.Anomaly, Grants: []string{"B.1", "A.1"}}, Events: []history.Event{
			{Index: 3, Time: 5e6, Process: "A", F: history.Acquire, Type: history.OK, Grant: "A.1", Since: 2e6, Lease: 1e9},
			{Index: 4, Time: at, Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1", Since: since, Lease: 1e9},
		}}
		return w
	}
	givenBack := func(w *Counterexample) *Counterexample {
		w.Evidence.Events = append(w.Evidence.Events, history.Event{Index: 5, Time: 55e5, Process: "A", F: history.Release, Type: history.Invoke, Grant: "A.1"})
		return w
	}
	byFault := func(w *Counterexample) *Counterexample {
		w.Faults = 1
		return w
	}
	renewed := func(w *Counterexample) *Counterexample {
		w.Evidence.Events[len(w.Evidence.Events)-1].F = history.Renew
		return w
	}
	// stuck is a deadlock of a cause, by a fault.
	stuck := func(cause, fault string) *Counterexample {
		w := of("deadlock", cause)
		w.Search.Hits, w.Kinds = 1, []string{fault}
		w.Schedule = "name: x\nabout: \"x\"\nlocks: [redis]\ncluster: redis\nclients:\n  A: acquire, release\nfaults:\n  - when: before A's release\n    " + fault + "\n    until: 1 leases\n"
		return w
	}
	// taken is a lock that B was granted so long after a fault began, while A's lease ran.
	taken := func(fault string, after int64, acts ...Act) *Counterexample {
		w := of("granted-early", "granted-early", acts...)
		w.Kinds = []string{fault}
		w.Schedule = "name: x\nabout: \"x\"\nlocks: [redis]\ncluster: redis\nclients:\n  A: acquire, release\n  B: acquire\nfaults:\n  - when: before A's release\n    " + fault + "\n    until: 1 leases\n"
		w.Evidence = &Evidence{Anomaly: verdict.Anomaly{Grants: []string{"A.1", "B.1"}}, Events: []history.Event{
			{Time: 1e6, Process: "A", F: history.Acquire, Type: history.OK, Grant: "A.1", Lease: 1e9},
			{Time: 2e6, Process: history.Nemesis, Phase: history.Begin, Confirmed: true},
			{Time: 2e6 + after, Process: "B", F: history.Acquire, Type: history.OK, Grant: "B.1", Lease: 1e9}}}
		return w
	}
	// left is one that says how much of the lease, of a second, was left.
	left := func(w *Counterexample, ns int64) *Counterexample {
		w.Evidence.Anomaly.Sizes = map[string]int64{"lease": 1e9, "remaining": ns}
		return w
	}
	crashed := func(anomaly, cause, fault string, acts ...Act) *Counterexample {
		w := taken(fault, 6e8, acts...)
		w.Signature = Signature{Anomaly: anomaly, Cause: cause, Kinds: []string{fault}}
		return w
	}
	// blamed adds the fault on a server that the record blames.
	blamed := func(w *Counterexample, fault string) *Counterexample {
		w.Evidence.Anomaly.Suspect = &verdict.Suspect{Fault: fault, On: verdict.OnServer}
		return w
	}
	// unshrunk adds a second fault, a reset, to a counterexample that may not be the least: these had a part, by its record, and those had none.
	unshrunk := func(w *Counterexample, parts, none string) *Counterexample {
		w.Schedule += "  - when: before A's release\n    reset: A to redis silently\n    until: 1 leases\n"
		w.Larger = "the time was over"
		w.Evidence.Anomaly.Faults, w.Evidence.Anomaly.Bystanders = strings.Fields(parts), strings.Fields(none)
		return w
	}
	inAcquireToo := func(w *Counterexample) *Counterexample {
		w.InAcquire = true
		return w
	}
	// renewedAt has a grant renewed.
	renewedAt := func(w *Counterexample, grant string, at int64) *Counterexample {
		w.Evidence.Events = append(w.Evidence.Events, history.Event{Index: 9, Time: at, Process: grant[:1], F: history.Renew, Type: history.OK, Grant: grant})
		return w
	}
	renewedTo := func(w *Counterexample, grant string) *Counterexample { return renewedAt(w, grant, 15e5) }
	nothing := func(w *Counterexample) *Counterexample {
		w.Cause = rounded
		return left(w, 5e5)
	}
	lost := func(fault string, acts ...Act) *Counterexample {
		w := crashed("granted-early", "granted-early", fault, acts...)
		w.Evidence.Events = nil // no silence before it
		return w
	}
	from := func(w *Counterexample, when string) *Counterexample {
		w.Schedule = strings.Replace(w.Schedule, "when: before A's release", "when: "+when, 1)
		return w
	}
	scheduled := func(w *Counterexample, until string) *Counterexample {
		w.Schedule = "name: x\nabout: \"x\"\nlocks: [redis]\nclients:\n  A: acquire, work " + until + ", release\n"
		return w
	}
	for name, c := range map[string]struct {
		a, b *Counterexample
		want bool
	}{
		"a gap in a downgrade, by two faults":                               {crashed("granted-early", downgradeGap, "hold: redis to A"), crashed("granted-early", downgradeGap, "clock: A +5s"), true},
		"a gap in a downgrade, and a client's clock":                        {crashed("granted-early", downgradeGap, "hold: redis to A"), crashed("granted-early", "granted-early", "clock: A +5s"), false},
		"a holder that crashed, and a release that was lost":                {stuck("crashed-holder", "kill: A"), stuck("lost-release", "cut: A from servers"), true},
		"an acquire that was lost in two ways":                              {stuck("lost-acquire", "kill: A"), stuck("lost-acquire", "withhold: servers to A"), true},
		"an acquire that was lost, and a server":                            {stuck("lost-acquire", "kill: A"), stuck("lost-acquire", "pause: redis"), false},
		"a hold that was lost in two ways":                                  {stuck("lost-hold", "kill: redis"), stuck("lost-hold", "hold: redis to A"), true},
		"a hold that was lost, and a release":                               {stuck("lost-hold", "cut: A from servers"), stuck("lost-release", "cut: A from servers"), false},
		"two clients' clocks":                                               {crashed("granted-early", "granted-early", "clock: A +5s"), inAcquireToo(crashed("granted-early", "granted-early", "clock: B +5s")), true},
		"a client's clock, and a server's":                                  {crashed("granted-early", "granted-early", "clock: A +5s"), crashed("granted-early", "granted-early", "clock: redis +5s"), false},
		"a server's clock, twice":                                           {crashed("granted-early", "granted-early", "clock: redis +5s"), crashed("revoked-early", "", "clock: redis +2s"), true},
		"a server's clock, and a bystander":                                 {crashed("granted-early", "granted-early", "clock: redis +5s"), unshrunk(crashed("granted-early", "granted-early", "clock: redis +2s"), "clock", "reset"), true},
		"a server's clock, and what was not on":                             {crashed("granted-early", "granted-early", "clock: redis +5s"), unshrunk(crashed("granted-early", "granted-early", "clock: redis +2s"), "clock", ""), true},
		"a server's clock, and both":                                        {crashed("granted-early", "granted-early", "clock: redis +5s"), unshrunk(crashed("granted-early", "granted-early", "clock: redis +2s"), "clock reset", ""), false},
		"a client's clock, and no clock":                                    {crashed("granted-early", "granted-early", "clock: A +5s"), crashed("granted-early", "granted-early", "reset: A to redis"), false},
		"a client's clock, and an act that it needs":                        {crashed("granted-early", "granted-early", "clock: A +5s", renewal), crashed("granted-early", "granted-early", "clock: A +5s", release(beside)), false},
		"a client's clock, by other harm":                                   {crashed("granted-early", "granted-early", "clock: A +5s"), crashed("deadlock", "", "clock: A +5s"), false},
		"a crash and a loss of power":                                       {crashed("token-reuse", "", "kill: redis"), crashed("token-reuse", "", "powerloss: redis"), true},
		"tokens that fall, and that come again, by a crash":                 {crashed("token-reuse", "", "kill: redis"), crashed("token-regression", "", "powerloss: redis"), true},
		"two deadlocks by a crash":                                          {crashed("deadlock", "", "powerloss: redis"), crashed("deadlock", "lost-release", "kill: redis"), true},
		"a deadlock by a crash, and tokens":                                 {crashed("deadlock", "", "powerloss: redis"), crashed("token-reuse", "", "kill: redis"), false},
		"a crash of a server, and one of a client":                          {blamed(crashed("token-reuse", "", "kill: redis"), "kill"), crashed("token-reuse", "", "kill: A"), false},
		"a crash, and a pause":                                              {blamed(crashed("token-reuse", "", "kill: redis"), "kill"), crashed("token-reuse", "", "pause: redis"), false},
		"a crash that needs an act, and one that does not":                  {crashed("token-reuse", "", "kill: redis", renewal), crashed("token-reuse", "", "powerloss: redis", release(beside)), false},
		"renewals that do not last, behind two faults":                      {renewedTo(taken("reset: A to redis silently", 5e7), "A.1"), renewedTo(taken("kill: A", 9e8), "A.1"), true},
		"a renewal that does not last, and a grant":                         {renewedTo(taken("reset: A to redis silently", 5e7), "A.1"), taken("kill: A", 9e8), false},
		"a renewal that does not last, and one of the next client":          {renewedTo(taken("reset: A to redis silently", 5e7), "A.1"), renewedTo(taken("kill: A", 9e8), "B.1"), false},
		"a renewal that does not last, and one that came too late":          {renewedTo(taken("reset: A to redis silently", 5e7), "A.1"), renewedAt(taken("kill: A", 9e8), "A.1", 1e9), false},
		"a renewal that does not last, and another client's fault":          {renewedTo(taken("reset: A to redis silently", 5e7), "A.1"), renewedTo(taken("kill: B", 9e8), "A.1"), false},
		"a renewal that does not last, and a server's fault":                {renewedTo(taken("reset: A to redis silently", 5e7), "A.1"), renewedTo(taken("kill: redis", 9e8), "A.1"), false},
		"renewals that do not last, and an act that only one needs":         {renewedTo(taken("reset: A to redis silently", 5e7, release(needed)), "A.1"), renewedTo(taken("kill: A", 9e8, renewal), "A.1"), false},
		"messages that are lost in two ways":                                {lost("cut: A from servers"), seenOnce(lost("reset: A to redis silently")), true},
		"messages that are lost from another moment on":                     {lost("cut: A from servers"), from(lost("reset: A to redis silently"), "before A's acquire"), false},
		"messages of another client that are lost":                          {lost("cut: A from servers"), lost("cut: B from servers"), false},
		"messages of two clients that are lost":                             {lost("cut: A from servers"), lost("cut: A, B from servers"), false},
		"messages that are lost, and that are late":                         {lost("cut: A from servers"), lost("hold: servers to A"), false},
		"messages that are lost, and an act that only one needs":            {lost("cut: A from servers", renewal), lost("reset: A to redis silently", release(beside)), false},
		"a silent holder, and next to nothing left":                         {left(taken("pause: A", 3e8), 15e5), nothing(taken("kill: A", 4e8)), true},
		"a silent holder, and next to nothing left of another":              {left(taken("pause: A", 3e8), 5e8), nothing(taken("kill: A", 4e8)), false},
		"a silent holder":                                                   {taken("pause: A", 6e8), taken("hold: redis to A", 5e8), true},
		"a silent holder that came once":                                    {taken("kill: A", 6e8), seenOnce(taken("cut: A from redis", 9e8)), true},
		"a silent holder, and a quick end":                                  {taken("pause: A", 6e8), taken("kill: A", 4e8), false},
		"two short silences, and one share of the lease":                    {left(taken("pause: A", 3e8), 47e7), left(taken("kill: A", 4e8), 5e8), true},
		"two short silences, and other shares":                              {left(taken("pause: A", 3e8), 47e7), left(taken("kill: A", 4e8), 3e8), false},
		"a quick end at the same share":                                     {left(taken("pause: A", 3e8), 47e7), left(taken("kill: A", 5e7), 5e8), false},
		"a silent holder, and one that is reset":                            {taken("pause: A", 6e8), taken("reset: A to redis", 9e8), false},
		"a silent holder, and a silent successor":                           {taken("pause: A", 6e8), taken("pause: B", 9e8), false},
		"a silent holder, and both silent":                                  {taken("cut: A from redis", 6e8), taken("cut: A, B from redis", 9e8), false},
		"a silent holder, and a server":                                     {taken("pause: A", 6e8), taken("pause: redis", 9e8), false},
		"a silent holder, and a clock":                                      {taken("pause: A", 6e8), taken("clock: A +5s", 9e8), false},
		"a holder silenced in its acquire, and later":                       {inAcquireToo(taken("pause: A", 6e8)), taken("hold: redis to A", 5e8), false},
		"a silent holder's renewal, and none":                               {taken("pause: A", 6e8, renewal), taken("hold: redis to A", 5e8), false},
		"a release that was lost in two ways":                               {stuck("lost-release", "hold: A to servers"), stuck("lost-release", "cut: A from servers"), true},
		"a holder that crashed, and a server":                               {stuck("crashed-holder", "kill: A"), stuck("lost-release", "pause: redis"), false},
		"a holder that crashed, and an acquire":                             {stuck("crashed-holder", "kill: A"), stuck("lost-acquire", "cut: A from servers"), false},
		"an answer to such an act":                                          {of("wrong-release", "", release(needed)), answer("released", 4), true},
		"an answer to it that came once":                                    {of("wrong-release", "", release(needed)), answer("released", 1), true},
		"an answer to another act":                                          {of("wrong-release", "", release(needed)), answer("extended", 4), false},
		"an answer to another that came once":                               {of("wrong-release", "", release(needed)), answer("extended", 1), false},
		"two answers":                                                       {answer("held", 4), answer("held", 4), true},
		"two answers that came once":                                        {answer("extended", 1), answer("extended", 1), true},
		"two wrong releases that came once":                                 {freed(1), freed(1), true},
		"a wrong release, and what needs it":                                {freed(4), of("granted-early", "granted-early", release(needed)), true},
		"a wrong release, and what does not":                                {freed(4), of("granted-early", "granted-early", release(beside)), false},
		"a false confirmation, and what rests on one":                       {confirmed(answer("released", 1), 9e6, true), confirmed(of("granted-early", "granted-early", release(beside)), 9e6, true), true},
		"the same, of a release that freed another's lock":                  {confirmed(of("granted-early", "granted-early"), 9e6, true), confirmed(freed(1), 9e6, true), true},
		"what rests on an earlier release":                                  {confirmed(answer("released", 1), 9e6, true), confirmed(of("granted-early", "granted-early", release(beside)), 4e6, true), false},
		"what rests on no confirmation":                                     {confirmed(answer("released", 1), 9e6, true), confirmed(of("granted-early", "granted-early", release(beside)), 9e6, false), false},
		"a false yes and a false no to a renewal":                           {answer("extended", 4), of("false-loss", "not-extended"), false},
		"a false renewal, and what rests on a release":                      {confirmed(answer("extended", 1), 9e6, true), confirmed(of("granted-early", "granted-early", release(beside)), 9e6, true), false},
		"a false renewal, and what rests on one":                            {renewed(confirmed(answer("extended", 1), 9e6, true)), renewed(confirmed(of("granted-early", "granted-early", release(beside)), 9e6, true)), true},
		"a false renewal that nothing else confirms, and what rests on one": {renewed(confirmed(answer("extended", 1), 9e6, false)), renewed(confirmed(of("granted-early", "granted-early", release(beside)), 9e6, false)), true},
		"a release that the lock did not confirm":                           {confirmed(freed(1), 9e6, false), byFault(confirmed(of("granted-early", "granted-early", release(beside)), 9e6, true)), false},
		"once, the same schedule":                                           {scheduled(of("token-regression", ""), "1 lease"), scheduled(seenOnce(of("token-reuse", "")), "1 lease"), true},
		"once, another schedule":                                            {scheduled(of("token-regression", ""), "1 lease"), scheduled(seenOnce(of("token-reuse", "")), "2 leases"), false},
		"once, another harm":                                                {scheduled(of("deadlock", ""), "1 lease"), scheduled(seenOnce(of("token-reuse", "")), "1 lease"), false},
		"often, the same schedule":                                          {scheduled(of("token-regression", ""), "1 lease"), scheduled(of("token-reuse", ""), "1 lease"), false},
		"the same act":                                                      {of("wrong-release", "", release(needed)), of("wrong-release", "", release(needed), release(beside)), true},
		"of another client":                                                 {of("wrong-release", "", release(needed)), of("wrong-release", "", other), true},
		"another anomaly of the same harm":                                  {of("wrong-release", "", release(needed)), of("granted-early", "granted-early", release(needed)), true},
		"what follows from it":                                              {of("wrong-release", "", release(needed)), of("stale-write", "granted-early", release(needed)), true},
		"another harm":                                                      {of("deadlock", "", release(needed)), of("wrong-release", "", release(needed)), false},
		"a lease hazard":                                                    {of("stale-write", "never-held"), seenOnce(of("stale-write", "never-held")), true},
		"granted by no server, for one fault and another":                   {of("double-grant", noServer), of("granted-early", noServer), true},
		"granted by no server, and by too few":                              {of("granted-early", noServer), of("granted-early", minority), false},
		"another lease hazard":                                              {of("stale-write", AfterLease), of("stale-write", "never-held"), false},
		"a lease hazard and a bug":                                          {of("stale-write", "never-held"), of("stale-write", "not-renewed"), false},
		"another act":                                                       {of("wrong-release", "", release(needed)), of("wrong-release", "", renewal), false},
		"one more act":                                                      {of("wrong-release", "", release(needed)), of("granted-early", "", release(needed), renewal), true},
		"one more than the holder's own":                                    {of("granted-early", "", own), of("granted-early", "", own, renewal), false},
		"tokens or an overlap, and an overlap":                              {of("token-regression", "or-overlap"), of("double-grant", ""), true},
		"a token and an overlap of one race":                                {raced(of("token-reuse", ""), 3e6, 6e6), raced(of("granted-early", "granted-early"), 4e6, 7e6), true},
		"a token of a later request, and a race":                            {raced(of("token-reuse", ""), 6e6, 9e6), raced(of("granted-early", "granted-early"), 4e6, 7e6), true},
		"a token of a race, and an overlap of a later request":              {raced(of("token-reuse", ""), 3e6, 6e6), raced(of("granted-early", "granted-early"), 6e6, 9e6), true},
		"a token given back, and a race":                                    {givenBack(raced(of("token-reuse", ""), 6e6, 9e6)), raced(of("granted-early", "granted-early"), 4e6, 7e6), false},
		"a token given when the lease was over, and a race":                 {raced(of("token-reuse", ""), 3e6, 2e9), raced(of("granted-early", "granted-early"), 4e6, 7e6), false},
		"a token of a race, and one that takes a fault":                     {raced(of("token-reuse", ""), 3e6, 6e6), raced(by("granted-early", "a pause of a client"), 4e6, 7e6), false},
		"tokens, and an overlap":                                            {of("token-regression", ""), of("double-grant", ""), false},
		"tokens or an overlap, and an overlap by a fault":                   {of("token-regression", "or-overlap"), by("double-grant", "a pause of a client"), false},
		"the holder's own and another's":                                    {of("granted-early", "", own, renewal), of("granted-early", "", own, release(needed)), false},
		"the holder's own act":                                              {of("wrong-release", "", release(needed)), of("granted-early", "", own), false},
		"no act that it needs":                                              {of("granted-early", "", release(beside)), of("granted-early", "", release(beside)), false},
		"one act that only one of them needs":                               {of("granted-early", "", release(needed)), of("granted-early", "", release(beside)), false},
		"not enough runs":                                                   {of("wrong-release", "", release(Rate{Runs: withoutActRuns - 1})), of("wrong-release", "", release(Rate{Runs: withoutActRuns - 1})), false},
		"one that came once, with that act":                                 {of("wrong-release", "", release(needed)), seen("A"), true},
		"one that came once, with another":                                  {of("wrong-release", "", release(needed)), seen("B"), false},
		"one that came once, with both":                                     {of("wrong-release", "", release(needed)), seen("A", "B"), false},
		"one that came once, with none":                                     {of("wrong-release", "", release(needed)), seen(), false},
		"two that came once":                                                {seen("A"), seen("A"), false},
	} {
		if got := c.a.sameBug(c.b); got != c.want || c.b.sameBug(c.a) != got {
			t.Errorf("%s: %v", name, got)
		}
	}
	more, less := left(taken("pause: A", 3e8), 15e5), nothing(taken("kill: A", 4e8))
	if !more.heads(less) || less.heads(more) {
		t.Error("the counterexample with less than a millisecond left is listed first, though the other one had more left")
	}
	stopped, cut := left(taken("pause: A", 3e8), 47e7), left(taken("cut: A from redis", 3e8), 47e7)
	stopped.Evidence.Anomaly.Sizes["stopped"] = 3e8
	if !stopped.heads(cut) || cut.heads(stopped) {
		t.Error("a holder that was cut off heads one that was stopped, and could do nothing")
	}
}

// What the same faults do to the lock, and no act of a client, is one bug: that a lease ends early shows by
// the grant of another client, and by the holder's renewal.
func TestSameFaults(t *testing.T) {
	const head = "name: x\nabout: \"x\"\nlocks: [redis]\nttl: 250ms\nclients:\n  A: acquire, renew\n  B: acquire, release\nfaults:\n  - when: B waiting\n    pause: redis\n    until: 1 leases\n"
	of := func(anomaly, grants string, acts ...Act) *Counterexample {
		return &Counterexample{
			Signature: Signature{Anomaly: anomaly, Kinds: []string{"a pause of a server"}}, Faults: 1, Schedule: head, Acts: acts,
			Search: Rate{Hits: 4, Runs: 4}, Evidence: &Evidence{Anomaly: verdict.Anomaly{Grants: strings.Fields(grants)}},
		}
	}
	act := func(client, do string, without Rate) Act {
		return Act{Client: client, Do: do, Nth: 1, Without: without}
	}
	beside, needed := Rate{Hits: 1, Runs: 1}, Rate{Runs: withoutActRuns}
	renew, release := act("A", history.Renew, beside), act("B", history.Release, beside)
	early, revoked := of("granted-early", "A.1 B.1", renew, release), of("revoked-early", "A.1", release)
	another := of("revoked-early", "A.1", release)
	another.Kinds = []string{"a crash of a server"}
	inAcquire := of("revoked-early", "A.1", release)
	inAcquire.InAcquire = true
	for name, c := range map[string]struct {
		a, b *Counterexample
		want bool
	}{
		"shown by a grant and by a renewal": {early, revoked, true},
		"tokens of one counter":             {of("token-regression", "A.1 B.1", renew, release), of("token-reuse", "A.1 B.1", renew, release), true},
		"another harm":                      {early, of("token-reuse", "A.1 B.1", renew, release), false},
		"another fault":                     {early, another, false},
		"in an acquire":                     {early, inAcquire, false},
		"one of them needs an act":          {early, of("revoked-early", "A.1", act("B", history.Release, needed)), false},
		"not run without an act":            {early, of("revoked-early", "A.1"), false},
	} {
		if got := c.a.sameBug(c.b); got != c.want || c.b.sameBug(c.a) != got {
			t.Errorf("%s: %v", name, got)
		}
	}
}
