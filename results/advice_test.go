package results

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
)

// checkerCauses are the causes of each anomaly, as the one table has them: what the checker's corpus shows is in it.
func checkerCauses() map[[2]string]bool {
	all := map[[2]string]bool{}
	for _, a := range verdict.Anomalies() {
		for _, c := range a.Causes {
			if c.Name != "" {
				all[[2]string{a.Name, c.Name}] = true
			}
		}
	}
	return all
}

func TestAdviceOnEverything(t *testing.T) {
	causes := checkerCauses()
	for of := range causes {
		if !slices.ContainsFunc(advices, func(a advice) bool { return [2]string{a.anomaly, a.cause} == of }) {
			t.Errorf("no advice on %s", of)
		}
	}
	for _, a := range advices { // none stands behind a more general one
		if got, ok := adviceOn(seen{group: checker.Group{Name: a.anomaly, Cause: a.cause}}); a.fits == nil && (!ok || got.cause != a.cause) {
			t.Errorf("on %s of the cause %s the advice is %q, want %q", a.anomaly, a.cause, got.says, a.says)
		}
	}
	for _, a := range checker.Anomalies() {
		if _, ok := adviceOn(seen{group: checker.Group{Name: a.Name, Cause: "of tomorrow"}}); !ok && !causeAlways(a.Name) {
			t.Errorf("no advice on %s of an unknown cause", a.Name)
		}
	}
	for _, a := range advices {
		if !slices.ContainsFunc(checker.Anomalies(), func(i checker.AnomalyInfo) bool { return i.Name == a.anomaly }) {
			t.Errorf("advice on %s, which is no anomaly", a.anomaly)
		}
		if a.cause != "" && !causes[[2]string{a.anomaly, a.cause}] {
			t.Errorf("advice on cause %s of %s, which the checker never gives", a.cause, a.anomaly)
		}
		if a.says == "" || a.do == "" || a.page == "" || strings.HasSuffix(a.says, ".") || strings.HasSuffix(a.do, ".") {
			t.Errorf("advice on %s/%s is no pair of clauses: %q, %q, %q", a.anomaly, a.cause, a.says, a.do, a.page)
		}
	}
}

// causeAlways are the kinds to which the checker never fails to give a cause.
func causeAlways(name string) bool {
	return name == "granted-early" || name == "false-belief" || name == "false-loss" || name == "nonlinearizable"
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// triggers are those that GitHub gives a page's headings.
func anchors(page string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		s := strings.ToLower(regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(m[1], ""))
		out = append(out, strings.ReplaceAll(s, " ", "-"))
	}
	return out
}

func TestAdviceLinksResolve(t *testing.T) {
	for _, a := range advices {
		file, anchor, _ := strings.Cut(a.page, "#")
		text, err := os.ReadFile("../docs/" + file)
		if err != nil {
			t.Errorf("%s: %v", a.page, err)
		} else if anchor != "" && !slices.Contains(anchors(string(text)), anchor) {
			t.Errorf("docs/%s has no heading for #%s", file, anchor)
		}
	}
}

func TestAdviceFits(t *testing.T) {
	by := func(fault string, on verdict.Side) *verdict.Suspect {
		return &verdict.Suspect{Fault: fault, Nodes: []string{"n"}, On: on}
	}
	early := func(n int, left func(int) int64, suspect *verdict.Suspect) []checker.Anomaly {
		var out []checker.Anomaly
		for i := range n {
			out = append(out, checker.Anomaly{Name: "granted-early", Cause: "granted-early", Grants: []string{fmt.Sprint("a", i), "b"}, Suspect: suspect,
				Sizes: map[string]int64{"lease": 1000 * ms, "remaining": left(i), "asked_before": ms}})
		}
		return out
	}
	permits := func(asked int64) []checker.Anomaly { // nine times a third client besides the same two
		var out []checker.Anomaly
		for i := range 9 {
			out = append(out, checker.Anomaly{Name: "granted-early", Cause: "granted-early", Grants: []string{"a", fmt.Sprint("b", i), fmt.Sprint("c", i)},
				Sizes: map[string]int64{"lease": 1000 * ms, "remaining": 400 * ms, "asked_before": asked, "permits": 2}})
		}
		return out
	}
	struck := func(list []checker.Anomaly, fault string, stopped int64) []checker.Anomaly {
		for i := range list {
			list[i].Time, list[i].Processes = 1000*ms, []string{"c1", "c2"}
			list[i].Suspect = &verdict.Suspect{Fault: fault, On: verdict.OnClient, Nodes: []string{"c1"}, Begin: 500 * ms, End: 2000 * ms}
			if stopped > 0 {
				list[i].Sizes["stopped"] = stopped
			}
		}
		return list
	}
	renewed := func(since ...int64) []checker.Anomaly {
		list := early(len(since), func(int) int64 { return 950 * ms }, nil)
		for i, s := range since {
			if s > 0 {
				list[i].Sizes["since_renewal"] = s
			}
		}
		return list
	}
	flat := func(v int64) func(int) int64 { return func(i int) int64 { return v - int64(i%3)*10*ms } }
	for _, c := range []struct {
		name        string
		group       checker.Group
		run         Run
		list        []checker.Anomaly
		says, page  string
		differently bool
	}{
		{"a holder without a lease that was stopped", checker.Group{Name: "stale-write"}, Run{}, []checker.Anomaly{{Name: "stale-write", Suspect: by("pause", verdict.OnClient)}}, "while its holder was stopped", "fencing", false},
		{"a holder without a lease that was cut off", checker.Group{Name: "stale-write"}, Run{}, []checker.Anomaly{{Name: "stale-write", Suspect: by("partition", verdict.OnClient)}}, "a client wrote after the lock had gone", "fencing", false},
		{"a key that expires too soon", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), nil), "after about 60 % of the lease", "short-lease", false},
		{"two at one share", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(2, flat(400*ms), nil), "after about 60 % of the lease", "short-lease", false},
		{"two prove no habit that do not agree closely", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(2, func(i int) int64 { return int64(400-i*50) * ms }, nil), "about", "", true},
		{"one", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(1, flat(400*ms), nil), "about", "", true},
		{"here and there", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, func(i int) int64 { return int64(i*100+50) * ms }, nil), "about", "", true},
		{"right after a renewal", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, renewed(12*ms, 49*ms), "right after its holder had renewed the lease", "renewing", false},
		{"later than right after it", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, renewed(12*ms, 50*ms), "renewed", "", true},
		{"without a renewal once", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, renewed(12*ms, 0), "renewed", "", true},
		{"at once", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(995*ms), nil), "at the same moment", "one-step", false},
		{"the last of several permits, at once", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, permits(ms), "at the same moment", "one-step", false},
		{"the last of several permits, one after the other", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, permits(0), "more clients in than there are permits", "one-step", false},
		{"permits without leases", checker.Group{Name: "double-grant"}, Run{}, []checker.Anomaly{{Name: "double-grant", Sizes: map[string]int64{"permits": 2}}}, "more clients in than there are permits", "one-step", false},
		{"a lease that a library counts from the answer", checker.Group{Name: "double-grant", Cause: "counted-late"}, Run{}, []checker.Anomaly{{Suspect: by("pause", verdict.OnServer)}}, "counted the lease from an answer", "lost-answer", false},
		{"a mutex without leases", checker.Group{Name: "double-grant"}, Run{}, []checker.Anomaly{{Name: "double-grant"}}, "to two clients at once", "one-step", false},
		{"rounded down", checker.Group{Name: "granted-early", Cause: "rounded"}, Run{}, early(9, flat(21*ms), by("clock", verdict.OnClient)), "less than a millisecond before its time", "short-lease", false},
		{"an inner release", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, []checker.Anomaly{{Name: "granted-early", Sizes: map[string]int64{"since_inner": 24e6, "since_entry": 1e8, "lease": 25e7, "remaining": 15e7}}}, "right after its holder had released an inner entry", "wrong-release", false},
		{"an inner release long before", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, []checker.Anomaly{{Name: "granted-early", Sizes: map[string]int64{"since_inner": 25e6, "lease": 25e7, "remaining": 15e7}}}, "inner entry", "", true},
		{"an entry", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, []checker.Anomaly{{Name: "granted-early", Sizes: map[string]int64{"since_entry": 1e8, "lease": 25e7, "remaining": 15e7}}}, "an inner acquire promised a lease", "short-lease", false},
		{"a grant of too few servers", checker.Group{Name: "granted-early", Cause: "minority"}, Run{}, early(9, flat(400*ms), by("partition", verdict.OnClient)), "while a majority of the servers could not answer it", "majority", false},
		{"the release of what was lost", checker.Group{Name: "granted-early", Cause: "confirmed-lost"}, Run{}, early(9, flat(400*ms), nil), "was confirmed that its client had lost", "answers", false},
		{"a lease counted from the answer", checker.Group{Name: "granted-early", Cause: "counted-late"}, Run{}, early(9, flat(400*ms), by("hold", verdict.OnClient)), "it is counted from the answer, or from a request that was sent again", "lost-answer", false},
		{"a lease that had ended", checker.Group{Name: "granted-early", Cause: "renewed-ended"}, Run{}, early(9, flat(400*ms), by("pause", verdict.OnClient)), "had ended when it was renewed", "renewing", false},
		{"a lease that ended by itself", checker.Group{Name: "granted-early", Cause: "ended-early"}, Run{}, early(1, flat(400*ms), nil), "the lease ended by itself, or the client", "short-lease", false},
		{"leases that ended by themselves", checker.Group{Name: "granted-early", Cause: "ended-early"}, Run{}, early(9, flat(400*ms), nil), "after about 60 % of the lease that it had promised, while no other client asked", "short-lease", false},
		{"a delayed release", checker.Group{Name: "granted-early", Cause: "late-release"}, Run{}, early(9, flat(400*ms), by("hold", verdict.OnClient)), "freed the lock when another client had it", "wrong-release", false},
		{"a crash, and a clock set back", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Name: "deadlock", Sizes: map[string]int64{"set_back": 30e9}}}, "or its expiry is counted by the service's clock", "crashed-holder", false},
		{"a crash, and a client's clock ahead", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Name: "deadlock", Sizes: map[string]int64{"ahead": 30e9}}}, "by a clock that was ahead", "crashed-holder", false},
		{"a crash, and no clock ahead", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Name: "deadlock", Sizes: map[string]int64{"set_back": 30e9}}}, "by a clock that was ahead", "", true},
		{"a crash, and no clock", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Name: "deadlock"}}, "expiry is counted", "", true},
		{"a renewal before the release", checker.Group{Name: "wrong-release", Cause: "renewed-late"}, Run{}, []checker.Anomaly{{Name: "wrong-release"}}, "may have taken the lock back from another client", "renewing", false},
		{"a holder that crashed", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Name: "deadlock"}}, "nobody frees the lock of a holder that crashed", "crashed-holder", false},
		{"a holder that crashed, with a lease", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Name: "deadlock", Sizes: map[string]int64{"lease": 250e6}}}, "after the lease that it was promised", "crashed-holder", false},
		{"a client that gave up waiting", checker.Group{Name: "granted-early", Cause: "given-up"}, Run{}, early(9, flat(400*ms), nil), "for its own turn", "stuck-queue", false},
		{"a client that gave up waiting for a lock without leases", checker.Group{Name: "double-grant", Cause: "given-up"}, Run{}, []checker.Anomaly{{Name: "double-grant"}}, "for its own turn", "stuck-queue", false},
		{"a renewal under way", checker.Group{Name: "granted-early", Cause: "renewed-meanwhile"}, Run{}, early(9, flat(400*ms), nil), "extending it, may be two steps", "renewing", false},
		{"a holder that crashed after renewals", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Name: "deadlock", Sizes: map[string]int64{"renewals": 9}}}, "renewals add up", "crashed-holder", false},
		{"an inner release", checker.Group{Name: "granted-early", Cause: "freed-more"}, Run{}, early(9, flat(400*ms), by("pause", verdict.OnClient)), "freed more of the lock than its client gave back", "wrong-release", false},
		{"a counter that went back", checker.Group{Name: "token-reuse", Cause: "went-back"}, Run{}, []checker.Anomaly{{}}, "it expired, or was deleted or lost", "tokens", false},
		{"a clock of a server", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), by("clock", verdict.OnServer)), "by the service's clock", "internals/clock.md", false},
		{"a clock of a client", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), by("clock", verdict.OnClient)), "by a client's clock", "internals/clock.md", false},
		{"a failover", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), by("failover", verdict.OnServer)), "that took over did not know", "lost-grants", false},
		{"a kill", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), by("kill", verdict.OnServer)), "forgot a grant when its server failed", "lost-grants", false},
		{"a kill before the lease was granted", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), &verdict.Suspect{Fault: "kill", Nodes: []string{"n"}, On: verdict.OnServer, Earlier: true}), "came back without knowing of it", "lost-grants", false},
		{"a kill before the lease was granted, and until after the second grant", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), &verdict.Suspect{Fault: "kill", Nodes: []string{"n"}, On: verdict.OnServer, Earlier: true, End: 1 << 60}), "while a server was down or coming back", "majority", false},
		{"a loss of power", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), by("powerloss", verdict.OnServer)), "forgot a grant when its server failed", "lost-grants", false},
		{"a cut between servers", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), by("partition", verdict.OnServer)), "may have forgotten", "lost-grants", false},
		{"a refusal of a server", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), by("refuse", verdict.OnServer)), "took an error of the service for the lock", "errors", false},
		{"a refusal, of a lock without leases", checker.Group{Name: "double-grant"}, Run{}, []checker.Anomaly{{Suspect: by("refuse", verdict.OnServer)}}, "took an error of the service for the lock", "errors", false},
		{"a refusal of a renewal", checker.Group{Name: "stale-write", Cause: "lease-outlived"}, Run{}, []checker.Anomaly{{Suspect: by("refuse", verdict.OnServer)}}, "refused to renew it", "fencing", false},
		{"a cut of a client", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), by("partition", verdict.OnClient)), "lost or late", "lost-answer", false},
		{"a pause of a client", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, early(9, flat(400*ms), by("pause", verdict.OnClient)), "in the middle of a step", "one-step", false},
		{"a crash of the holder", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, struck(early(1, flat(50*ms), nil), "kill", 500*ms), "was killed lost the lock after about 95 % of the lease", "short-lease", false},
		{"a crash of another, or when the holder could still act", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, struck(early(1, flat(50*ms), nil), "kill", 0), "in the middle of a step", "one-step", false},
		{"a pause of the holder", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, struck(early(1, flat(470*ms), nil), "pause", 300*ms), "was stopped lost the lock after about 53 % of the lease", "short-lease", false},
		{"a pause of another, or when the holder could still act", checker.Group{Name: "granted-early", Cause: "granted-early"}, Run{}, struck(early(1, flat(470*ms), nil), "pause", 0), "in the middle of a step", "one-step", false},
		{"stopped", checker.Group{Name: "stale-write", Cause: "lease-outlived"}, Run{}, []checker.Anomaly{{Suspect: by("pause", verdict.OnClient)}}, "while its holder was stopped", "concepts/fencing.md", false},
		{"cut off", checker.Group{Name: "lost-update", Cause: "lease-outlived"}, Run{}, []checker.Anomaly{{Suspect: by("flap", verdict.OnClient)}}, "messages were lost or late", "concepts/fencing.md", false},
		{"a service that does not answer", checker.Group{Name: "two-holders", Cause: "lease-outlived"}, Run{}, []checker.Anomaly{{Suspect: by("pause", verdict.OnServer)}}, "did not answer its holder", "concepts/fencing.md", false},
		{"bystanders only", checker.Group{Name: "stale-write", Cause: "lease-outlived"}, Run{}, []checker.Anomaly{{Bystanders: []string{"pause"}}}, "the section was longer than the lease", "concepts/fencing.md", false},
		{"a counter that was lost", checker.Group{Name: "token-reuse"}, Run{}, []checker.Anomaly{{Suspect: by("kill", verdict.OnServer)}}, "forgot its grants and the counter", "tokens", false},
		{"tokens of a clock", checker.Group{Name: "token-regression"}, Run{}, []checker.Anomaly{{Suspect: by("clock", verdict.OnClient)}}, "follow a client's clock", "tokens", false},
		{"slow by itself", checker.Group{Name: "stale-write", Cause: "lease-outlived"}, Run{}, []checker.Anomaly{{}}, "the section was longer than the lease", "concepts/fencing.md", false},
		{"a clock that was set back", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Suspect: by("clock", verdict.OnServer)}}, "when that clock has caught up", "internals/clock.md", false},
		{"crashed while a client's clock was wrong", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Suspect: by("clock", verdict.OnClient)}}, "nobody frees the lock", "crashed-holder", false},
		{"crashed", checker.Group{Name: "deadlock", Cause: "crashed-holder"}, Run{}, nil, "nobody frees the lock", "crashed-holder", false},
		{"an answer that was lost", checker.Group{Name: "deadlock"}, Run{}, []checker.Anomaly{{Name: "deadlock", Suspect: by("withhold", verdict.OnClient)}}, "may stand before it", "asked-again", false},
		{"a server that was slow", checker.Group{Name: "deadlock"}, Run{}, []checker.Anomaly{{Name: "deadlock", Suspect: by("withhold", verdict.OnServer)}}, "may stand before it", "", true},
		{"a release that was lost", checker.Group{Name: "deadlock", Cause: "lost-release"}, Run{}, nil, "the release of the last holder failed or was not answered", "lost-release", false},
		{"an acquire that was lost", checker.Group{Name: "deadlock", Cause: "lost-acquire"}, Run{}, nil, "an acquire that was not answered may have taken the lock", "lost-acquire", false},
		{"a release that came late", checker.Group{Name: "double-grant", Cause: "late-release"}, Run{}, []checker.Anomaly{{Suspect: by("pause", verdict.OnClient)}}, "may have freed the lock", "wrong-release", false},
		{"a release that frees nothing", checker.Group{Name: "not-freed"}, Run{}, []checker.Anomaly{{Name: "not-freed"}}, "confirmed and frees nothing", "not-freed", false},
		{"a crashed reader's share", checker.Group{Name: "not-freed", Cause: "crashed-holder"}, Run{}, []checker.Anomaly{{Suspect: by("kill", verdict.OnClient)}}, "for as long as others hold theirs", "not-freed", false},
		{"counted twice after a lost answer", checker.Group{Name: "not-freed"}, Run{}, []checker.Anomaly{{Suspect: by("withhold", verdict.OnClient)}}, "counts a request whose answer was lost", "not-freed", false},
		{"never granted", checker.Group{Name: "deadlock", Cause: "never-granted"}, Run{}, nil, "it is set up wrongly", "never-granted", false},
		{"no lock", checker.Group{Name: "lost-update"}, Run{NoLock: true}, nil, "others had changed meanwhile", "one-step", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, ok := adviceOn(seen{run: c.run, group: c.group, list: c.list})
			if !ok || strings.Contains(a.says, c.says) == c.differently || !strings.Contains(a.page, c.page) || strings.Contains(a.says, "%.") {
				t.Errorf("%v: %q, %q", ok, a.says, a.page)
			}
		})
	}
	if a, ok := adviceOn(seen{group: checker.Group{Name: "novelty"}}); ok {
		t.Errorf("advice on what nobody knows: %+v", a)
	}
}
