package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/results"
)

//go:embed assets/web.html.tmpl
var pageHTML string

//go:embed assets/web.css
var pageCSS string

//go:embed assets/web.js
var pageJS string

func style() string { return results.CSS() + pageCSS }

var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("web").Funcs(template.FuncMap{
		"clip": clip, "when": when, "unix": time.Time.Unix, "class": verdictOf, "word": word, "campaignLink": campaignLink, "compareLink": compareLink,
		"rate": func(v float64) string { return fmt.Sprintf("%.2f", v) },
	}).Parse(pageHTML))
})

// page is what every template is given.
type page struct {
	CSS     template.CSS
	JS      template.JS
	Title   string
	Mark    string // of the state that is shown
	Trouble []string

	Index    *State
	Rows     []row // of the index: its campaigns
	Campaign *Campaign
	Verdict  string
	Others   []Campaign // to compare with
	Compare  *comparison
	Message  string
}

// row is a campaign in the list of all.
type row struct {
	Campaign
	Verdict                        string
	Held, Broke, Unknown, Findings int
	Items, Done                    int
}

// comparison is what is different between two campaigns.
type comparison struct {
	Before, Now Campaign
	Changes     []fleet.Change
	Verdict     string
}

// Handler answers requests: pages, the state as JSON, and reports.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.index)
	mux.HandleFunc("/campaign", s.campaign)
	mux.HandleFunc("/compare", s.compare)
	mux.HandleFunc("/api/state", s.api)
	mux.HandleFunc(filesPath, s.file)
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { s.missing(w, "there is no such page") })
	return s.guard(mux)
}

func (s *Site) index(w http.ResponseWriter, r *http.Request) {
	st := s.state(r.Context())
	p := page{Title: "picklock: campaigns", Mark: mark(st), Index: &st, Trouble: st.Trouble}
	for _, c := range st.Campaigns {
		one := row{Campaign: c, Verdict: c.verdict()}
		one.Held, one.Broke, one.Unknown, one.Findings = c.counts()
		for _, j := range c.Jobs {
			one.Items, one.Done = one.Items+j.Items, one.Done+j.Done
		}
		p.Rows = append(p.Rows, one)
	}
	s.show(w, http.StatusOK, p)
}

// mostOthers is how many campaigns are offered to compare with: the newest of the same name,
// then the others.
const mostOthers = 50

func (s *Site) campaign(w http.ResponseWriter, r *http.Request) {
	st := s.state(r.Context())
	c, ok := st.campaign(r.URL.Query().Get("of"))
	if !ok {
		s.missing(w, "there is no such campaign any more")
		return
	}
	p := page{Title: "picklock: " + clip(c.Name), Mark: mark(st), Campaign: &c, Verdict: c.verdict(), Trouble: st.Trouble}
	if c.report != nil {
		for _, same := range []bool{true, false} {
			for _, o := range st.Campaigns {
				if o.report != nil && o.Key != c.Key && (o.Name == c.Name) == same && len(p.Others) < mostOthers {
					p.Others = append(p.Others, o)
				}
			}
		}
	}
	s.show(w, http.StatusOK, p)
}

// compare shows what is different in campaign b from an earlier one, a.
func (s *Site) compare(w http.ResponseWriter, r *http.Request) {
	st := s.state(r.Context())
	q := r.URL.Query()
	before, ok := st.campaign(q.Get("a"))
	now, also := st.campaign(q.Get("b"))
	if !ok || !also || before.report == nil || now.report == nil {
		s.missing(w, "only campaigns that have ended can be compared: with their campaign.json below the folder that is shown, or with what they came to on the queue")
		return
	}
	changes := now.report.Compare(before.report)
	p := page{Title: "picklock: " + clip(now.Name) + " compared", Mark: mark(st), Trouble: st.Trouble}
	p.Compare = &comparison{before, now, changes, classOf(fleet.Regressed(changes))}
	s.show(w, http.StatusOK, p)
}

// api gives the state as JSON. mark tells pages whether anything is different.
func (s *Site) api(w http.ResponseWriter, r *http.Request) {
	st := s.state(r.Context())
	m := mark(st)
	if r.URL.Query().Get("mark") == m {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	b, err := json.Marshal(struct {
		Mark string `json:"mark"`
		State
	}{m, st})
	if err != nil {
		http.Error(w, "the state cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // whoever asked may be gone
}

// mark is the same for the same state.
func mark(st State) string {
	b, err := json.Marshal(st)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

func (s *Site) missing(w http.ResponseWriter, why string) {
	s.show(w, http.StatusNotFound, page{Title: "picklock: not there", Message: why})
}

func (s *Site) show(w http.ResponseWriter, code int, p page) {
	p.CSS, p.JS = template.CSS(style()), template.JS(pageJS) //nolint:gosec // our own files
	var b bytes.Buffer
	if err := pages().Execute(&b, p); err != nil {
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // whoever asked may be gone
}

// verdict is the class of a campaign's verdict; "" while it goes on and nothing broke.
func (c Campaign) verdict() string {
	if c.report != nil {
		return classOf(c.report.Valid())
	}
	for _, j := range c.Jobs {
		if verdictOf(j) == "broken" {
			return "broken"
		}
	}
	return ""
}

func classOf(v checker.Validity) string {
	return map[checker.Validity]string{checker.True: "holds", checker.False: "broken", checker.Unknown: "unknown"}[v]
}

func word(class string) string {
	return map[string]string{"holds": "held", "broken": "broken", "unknown": "unknown"}[class]
}

// longest bounds a text that a lock, a server or a worker may have written.
const longest = 2000

func clip(s string) string {
	r := []rune(s)
	if len(r) <= longest {
		return s
	}
	return string(r[:longest]) + "…"
}

func when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func campaignLink(key string) string { return "/campaign?" + url.Values{"of": {key}}.Encode() }

func compareLink(a, b string) string { return "/compare?" + url.Values{"a": {a}, "b": {b}}.Encode() }
