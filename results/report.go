package results

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
)

//go:embed assets/report.html.tmpl
var reportHTML string

//go:embed assets/report.css
var reportCSS string

//go:embed assets/format.js
var formatJS string

//go:embed assets/report.js
var drawJS string

var reportJS = formatJS + drawJS

var reportTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("report").Parse(reportHTML)) })

// maxProved is how many anomalies a report proves in full. The rest are counted;
// verdict.json has them all.
const maxProved = 50

// maxRows bounds one evidence's table, maxChip one value in it.
const (
	maxRows = 60
	maxChip = 160
)

// page is what the template shows: text only, ready to read.
type page struct {
	CSP      string
	CSS      template.CSS
	JS       template.JS
	Data     template.JS
	Picture  template.HTML // the first anomaly, or the start of the run, drawn without a script
	Caption  string
	Title    string
	Valid    string // holds, broken or unknown: also the CSS class
	Headline string
	Lead     string
	Note     string   // where the sections were longer than the lease
	Missing  []string // of an unknown verdict
	Warnings []string
	Tested   string
	Started  string

	Properties []propertyView
	Causes     []causeView
	MoreCauses string
	Anomalies  []anomalyView
	Fold       int    // the number of the first anomaly that is folded away
	Nothing    string // where no anomaly is listed
	Refused    []refusedView
	// RefusedCount is all of them, in words.
	RefusedCount string
	Others       string // the heading of those that are folded away
	More         string // what the list leaves out
	NoPicture    string // why there is no timeline
	LeftOut      string // what the timeline leaves out
	Keys         []string
	Numbers      []numberView
	Faults       []faultView
	Command      string
	Settings     []pair
	Versions     []pair
	Nodes        []Node
	ManyNodes    string // the heading under which they are folded away
}

// causeView is a root cause on the page: with the numbers of the anomalies that prove
// it and what it led to.
type causeView struct {
	rootCause
	Number int
	Led    string
	Then   []thenView
}

type thenView struct {
	consequence
	Number int
}

// maxCauses bounds the root causes of a page.
const maxCauses = 40

type anomalyView struct {
	Number      int
	Name        string
	Property    string
	Required    bool
	Explanation string
	At          string
	Facts       []pair
	Rows        []evidenceRow
	Cut         int
	Open        bool
}

// Report writes report.html: one file that needs nothing else, no network and,
// for its text and first picture, no script. It answers in the order in which
// people ask: what was tested, did it hold and why not, when, which properties,
// what broke and how, how much, and how to see it again.
func Report(w io.Writer, run Run, v checker.Verdict, events []history.Event, effects []history.Effect) error {
	run.NoLock = run.NoLock || v.Stats.NoLock
	t := newTimeline(run, events, effects)
	causes := rootCauses(run, v)
	ordered := deepestFirst(v)
	shown := ordered[:min(len(ordered), maxProved)]
	p := page{
		CSS: template.CSS(reportCSS), JS: template.JS(reportJS), //nolint:gosec // our own files
		// Hashes, so that even a mistake in the escaping could run nothing.
		CSP: "default-src 'none'; style-src '" + hash(reportCSS) + "'; script-src '" + hash(reportJS) +
			"'; base-uri 'none'; form-action 'none'",
		Valid:    class(v.Valid),
		Headline: headline(run, v),
		Lead:     lead(v, shown),
		Note:     capital(sectionNote(run, v)),
		Missing:  missing(run, v),
		Warnings: warnings(run),
		Tested:   tested(run),
		Command:  Command(run),
	}
	p.Title = "picklock: " + p.Headline
	if !run.Started.IsZero() {
		p.Started = run.Started.Format("2006-01-02 15:04:05 MST")
	}
	p.Properties = properties(run, v)
	p.Causes, p.MoreCauses = causesView(causes)
	p.Fold = max(4, min(9, len(v.ByCause())+1))
	for i, a := range shown {
		rows, cut := t.evidence(a, events, effects)
		t.addScene(a, rows)
		p.Anomalies = append(p.Anomalies, anomaly(run, i+1, a, v, rows, cut))
	}
	if n := len(ordered) - len(shown); n > 0 {
		p.More = fmt.Sprintf("And %s more, which %s lists.", format.Count(n), VerdictFile)
	}
	for _, a := range ordered {
		t.Times = append(t.Times, a.Time)
	}
	p.Nothing = nothing(v)
	// What fencing kept out matters where nothing that counts broke.
	if v.Valid != checker.False {
		p.Refused, p.RefusedCount = t.refused()
	}
	p.Others = plural(len(p.Anomalies)-p.Fold+1, "further anomaly", "further anomalies")
	lease := t.longestLease(run)
	js, left, err := t.encode(lease)
	if err != nil {
		return fmt.Errorf("encode timeline: %w", err)
	}
	p.Data = template.JS(js) //nolint:gosec // JSON with <, > and & escaped
	p.LeftOut = leftOut(left)
	if n := v.Stats.Events - len(events); n > 0 {
		p.LeftOut = partOf(len(events), v.Stats.Events, p.LeftOut)
		p.RefusedCount = plural(v.Stats.Rejected, "operation", "operations")
	}
	if len(t.Tracks) == 0 || t.End <= t.Start {
		p.NoPicture = "There is no timeline: the history holds " + plural(len(events), "event", "events") + "."
	} else {
		p.Picture, p.Caption = t.picture(lease)
	}
	if len(t.Keys) > 1 {
		for i, k := range t.Keys[:min(len(t.Keys), 100)] {
			if k == "" {
				k = fmt.Sprintf("(key %d, unnamed)", i)
			}
			p.Keys = append(p.Keys, clip(k, 60))
		}
	}
	p.Numbers, p.Faults = numbers(run, v), faults(run, v)
	p.Settings, p.Versions = settings(run), versions(run)
	for _, n := range run.Nodes {
		p.Nodes = append(p.Nodes, Node{clip(n.Name, 200), clip(n.Role, 40), clip(strings.TrimSuffix(n.Addr, ":0"), 200), clip(n.External, 200)})
	}
	if len(p.Nodes) > maxNodes {
		p.ManyNodes = plural(len(p.Nodes), "node", "nodes")
	}
	return reportTemplate().Execute(w, p)
}

// maxNodes is how many nodes are listed without being asked for.
const maxNodes = 16

// causesView numbers the causes' anomalies as deepestFirst orders them.
func causesView(causes []rootCause) (out []causeView, more string) {
	n := 0
	for i, r := range causes {
		if i == maxCauses {
			return out, "And " + plural(len(causes)-i, "more root cause", "more root causes") + ", whose anomalies " + VerdictFile + " has."
		}
		n++
		c := causeView{rootCause: r, Number: n, Led: strings.TrimSpace(strings.TrimPrefix(r.LedTo, "which "))}
		c.Led = strings.ToUpper(c.Led[:min(1, len(c.Led))]) + c.Led[min(1, len(c.Led)):]
		c.Name = verdict.Shown(r.Name)
		for _, t := range r.Then {
			n++
			t.Name = verdict.Shown(t.Name)
			c.Then = append(c.Then, thenView{t, n})
		}
		out = append(out, c)
	}
	return out, ""
}

// deepestFirst orders anomalies as people should read them: of each root cause the
// first one, with the first of each kind that it led to, and then all others.
func deepestFirst(v checker.Verdict) []checker.Anomaly {
	var out []checker.Anomaly
	in := map[int]bool{}
	for _, i := range v.ByCause() {
		out = append(out, v.Anomalies[i])
		in[i] = true
	}
	rest := v
	rest.Anomalies = nil
	for i, a := range v.Anomalies {
		if !in[i] {
			rest.Anomalies = append(rest.Anomalies, a)
		}
	}
	return append(out, decisiveFirst(rest)...)
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// decisiveFirst orders anomalies: those that decide the verdict, then the
// rest, each by time. A list cut short still shows every kind of anomaly: the
// first of each name comes before the second of any.
func decisiveFirst(v checker.Verdict) []checker.Anomaly {
	out := slices.Clone(v.Anomalies)
	required := func(a checker.Anomaly) bool { return v.Properties[a.Property].Required }
	slices.SortStableFunc(out, func(a, b checker.Anomaly) int {
		if ra, rb := required(a), required(b); ra != rb {
			if ra {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Time, b.Time)
	})
	if len(out) <= maxProved {
		return out
	}
	seen := map[string]int{}
	rank := make([]int, len(out))
	order := make([]int, len(out))
	for i, a := range out {
		rank[i], order[i] = seen[a.Name], i
		seen[a.Name]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	order = order[:maxProved]
	slices.Sort(order)
	picked := make([]checker.Anomaly, 0, len(out))
	in := map[int]bool{}
	for _, i := range order {
		in[i] = true
		picked = append(picked, out[i])
	}
	for i, a := range out {
		if !in[i] {
			picked = append(picked, a)
		}
	}
	return picked
}

func anomaly(run Run, n int, a checker.Anomaly, v checker.Verdict, rows []evidenceRow, cut int) anomalyView {
	view := anomalyView{
		Number: n, Name: clip(verdict.Shown(a.Name), 60), Property: clip(verdict.ShownProperty(a.Property), 40), Required: v.Properties[a.Property].Required,
		Explanation: sentence(clip(firstNonEmpty(a.Explanation, "The checker gave no explanation."), 2000)),
		At:          format.Instant(a.Time), Rows: rows, Cut: cut, Open: n == 1,
	}
	fact := func(name, value string) {
		if value != "" {
			view.Facts = append(view.Facts, pair{name, value})
		}
	}
	fact("cause", clip(firstNonEmpty(causeWords(run, a), strings.ReplaceAll(a.Cause, "-", " ")), 200))
	fact("probably brought about by", seen{list: []checker.Anomaly{a}}.by())
	fact("faults that had a part", firstNonEmpty(clip(format.And(a.Faults), 200), "none"))
	fact("also on", clip(format.And(a.Bystanders), 200))
	fact("clients", clip(format.And(a.Processes), 200))
	fact("key", clip(a.Key, 120))
	var sizes []string
	for _, name := range slices.Sorted(maps.Keys(a.Sizes)) {
		if len(sizes) < 8 {
			sizes = append(sizes, clip(strings.ReplaceAll(name, "_", " "), 40)+" "+format.Page.Length(a.Sizes[name]))
		}
	}
	fact("sizes", strings.Join(sizes, " · "))
	return view
}
