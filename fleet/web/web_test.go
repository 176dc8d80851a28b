package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
)

// left is what nats.go 1.55 leaves behind where a publisher is cleaned up before this one has
// read which channel it is to wait for: it waits for none then.
const left = "github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(left)) }

const hostileText = `"><script>alert(1)</script><img src=x onerror=alert(2)>`

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func report(name, folder string, day int, jobs ...fleet.JobReport) fleet.Report {
	at := time.Date(2026, 1, day, 10, 0, 0, 0, time.UTC)
	return fleet.Report{ID: name + "-" + folder, Name: name, Version: "v1", Started: at, Finished: at.Add(time.Hour), Jobs: jobs}
}

func write(t *testing.T, dir, folder string, r fleet.Report) {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, folder+"/campaign.json", string(b))
}

// shown is a folder with campaigns: two of one name, a hostile one, one that goes on.
func shown(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	broke := fleet.JobReport{
		Number: 0, Name: "hunt redis none", Lock: "redis", Fencing: "none", Valid: checker.False, Headline: "broken by a pause", Folder: "jobs/001", Page: "hunt.html", Items: 3, Plays: 70,
		Findings: []fleet.Finding{{Of: "redis, none", What: "stale-write", Takes: "pause", Rate: "20 of 20"}},
	}
	held := fleet.JobReport{Number: 1, Name: "hunt etcd read-write", Lock: "etcd", Fencing: "read-write", Valid: checker.True, Headline: "nothing was found", Items: 12, Plays: 900}
	heldBefore := broke
	heldBefore.Valid, heldBefore.Findings, heldBefore.Headline = checker.True, nil, "nothing was found"
	write(t, dir, "before", report("nightly", "before", 1, heldBefore, held))
	write(t, dir, "now", report("nightly", "now", 2, broke, held))
	put(t, dir, "now/jobs/001/hunt.html", "<title>a hunt</title><script>document.title = 'drawn'</script>")
	put(t, dir, "now/campaign.id", "nightly-now\n")
	put(t, dir, "now/queue/report.html", "of the queue")
	hostile := broke
	hostile.Name, hostile.Headline, hostile.Lock, hostile.Folder, hostile.Page = hostileText, hostileText, hostileText, "../../etc", "passwd"
	hostile.Findings = []fleet.Finding{{Of: hostileText, What: hostileText, Takes: hostileText, Rate: hostileText}}
	hostile.Dead = []fleet.Dead{{Item: hostileText, Why: hostileText}}
	write(t, dir, `hos"<b>tile`, report(hostileText, "hostile", 3, hostile))
	put(t, dir, "begun/campaign.id", "weekly-0a1b2c3d\n")
	put(t, dir, "damaged/campaign.json", "{")
	return dir
}

func site(t *testing.T, dir string) *Site {
	t.Helper()
	s, err := New(Options{Dir: dir, Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// answer is what was answered, but for its text.
type answer struct {
	Status     string
	StatusCode int
	Header     http.Header
}

// ask asks as a browser on this machine does; changes make the request another one.
func ask(t *testing.T, s *Site, target string, changes ...func(*http.Request)) (answer, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	var err error
	if r.URL, err = r.URL.Parse(target); err != nil {
		t.Fatal(err)
	}
	r.Host = "127.0.0.1:7474"
	for _, c := range changes {
		c(r)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return answer{http.StatusText(w.Code), w.Code, w.Header()}, w.Body.String()
}

func TestCampaignsAreListed(t *testing.T) {
	s := site(t, shown(t))
	_, page := ask(t, s, "/")
	for _, want := range []string{`href="/campaign?of=folder%3Anow">nightly</a>`, "weekly", "not ended", "damaged/campaign.json is no campaign", `href="/files/now/jobs/001/hunt.html"`, "15 of 15"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "queue/report.html") {
		t.Error("files of a queue are listed")
	}
	_, page = ask(t, s, "/campaign?of=folder:now")
	for _, want := range []string{"broken by a pause", `<a href="/files/now/jobs/001/hunt.html">hunt redis none</a>`, "20 of 20", `href="/compare?a=folder%3Abefore&amp;b=folder%3Anow"`, "900"} {
		if !strings.Contains(page, want) {
			t.Errorf("the campaign's page does not have %q", want)
		}
	}
}

func TestCompare(t *testing.T) {
	s := site(t, shown(t))
	for target, want := range map[string]string{
		"/compare?a=folder:before&b=folder:now":    "Something broke that did not before",
		"/compare?a=folder:now&b=folder:before":    "Nothing broke that did not before",
		"/compare?a=folder:before&b=folder:before": "<p>Nothing.</p>",
		"/compare?a=folder:before&b=folder:begun":  "can be compared",
		"/compare?a=folder:before&b=folder:none":   "can be compared",
	} {
		if _, page := ask(t, s, target); !strings.Contains(page, want) {
			t.Errorf("%s does not say %q", target, want)
		}
	}
	_, page := ask(t, s, "/compare?a=folder:before&b=folder:now")
	if bad, good := strings.Index(page, `<td class="bad"><p>redis, none: <b>stale-write</b> by pause`), strings.Index(page, `<td class="good"><p>`); bad < 0 || good >= 0 {
		t.Error("what broke is not where it belongs")
	}
}

// The state says what the pages say, and its mark says whether there is anything new.
func TestState(t *testing.T) {
	dir := shown(t)
	s := site(t, dir)
	answer, text := ask(t, s, "/api/state")
	var got struct {
		Mark string
		State
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || answer.Header.Get("Content-Type") != "application/json" {
		t.Fatal(err, answer.Header)
	}
	if len(got.Campaigns) != 4 || len(got.Reports) != 1 || got.Reports[0].Kind != "hunt" || len(got.Trouble) != 1 {
		t.Errorf("%d campaigns, reports %v, trouble %v", len(got.Campaigns), got.Reports, got.Trouble)
	}
	if c, _ := got.campaign("folder:now"); c.Valid != "false" || c.State != Ended || len(c.Jobs) != 2 {
		t.Errorf("%+v", c)
	}
	if answer, _ := ask(t, s, "/api/state?mark="+got.Mark); answer.StatusCode != http.StatusNoContent {
		t.Errorf("nothing is new: %s", answer.Status)
	}
	write(t, dir, "later", report("nightly", "later", 4))
	s.folder.at = time.Time{} // as if some time had gone by
	if answer, _ := ask(t, s, "/api/state?mark="+got.Mark); answer.StatusCode != http.StatusOK {
		t.Errorf("there is something new: %s", answer.Status)
	}
}

// Nothing that a campaign, a folder or an address says becomes part of a page's markup.
func TestHostileTextsAreText(t *testing.T) {
	s := site(t, shown(t))
	key := "folder:" + `hos"<b>tile`
	for _, target := range []string{"/", campaignLink(key), compareLink("folder:now", key), compareLink(key, "folder:now"), campaignLink(hostileText), "/files/" + hostileText} {
		_, page := ask(t, s, target)
		body := page[strings.Index(page, "<body"):strings.LastIndex(page, "<script>")]
		for _, bad := range []string{"<script", "<img", `"<b>tile`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q in it", target, bad)
			}
		}
	}
	_, page := ask(t, s, campaignLink(key))
	if !strings.Contains(page, "&lt;script&gt;") || strings.Contains(page, "/files/etc") || strings.Contains(page, "passwd") {
		t.Error("the hostile campaign's page does not tell its name as text, or links to where it says")
	}
}

func TestNothingOutsideTheFolder(t *testing.T) {
	dir := shown(t)
	outside := t.TempDir()
	put(t, outside, "secret.txt", "a secret")
	put(t, dir, ".hidden/report.html", "a secret")
	put(t, dir, ".env.txt", "a secret")
	put(t, dir, "key.pem", "a secret")
	for link, to := range map[string]string{
		"link.txt": filepath.Join(outside, "secret.txt"), "away": outside, "report.html": filepath.Join(outside, "secret.txt"),
		"up.txt": "../" + filepath.Base(outside) + "/secret.txt",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.html"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := site(t, dir)
	relative := "../" + filepath.Base(outside) + "/secret.txt"
	for _, name := range []string{
		"link.txt", "away/secret.txt", "report.html", "up.txt", relative, "now/../" + relative, "now/%2e%2e/%2e%2e/" + filepath.Base(outside) + "/secret.txt", "..%2f" + filepath.Base(outside) + "%2fsecret.txt",
		"%2fetc%2fhostname.txt", filepath.Join(outside, "secret.txt"), ".hidden/report.html", ".env.txt", "key.pem", "now/queue/report.html", "folder.html", "", ".", "now", "now%00.txt", `now\..\..\x.txt`,
	} {
		answer, text := ask(t, s, "/files/"+name)
		if answer.StatusCode == http.StatusOK || strings.Contains(text, "a secret") {
			t.Errorf("/files/%s: %s", name, answer.Status)
		}
	}
	_, page := ask(t, s, "/")
	page, _, _ = strings.Cut(page[strings.Index(page, "<body"):], "<script>")
	if strings.Contains(page, "away/") || strings.Contains(page, ">report.html<") || strings.Contains(page, ".hidden") {
		t.Error("what lies outside the folder is listed")
	}
	if answer, text := ask(t, s, "/files/now/jobs/001/hunt.html"); answer.StatusCode != http.StatusOK || !strings.Contains(text, "a hunt") {
		t.Errorf("a report that is there: %s", answer.Status)
	}
}

// A campaign whose folder leads outside by a link is none.
func TestLinkedCampaign(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, ".", report("elsewhere", "x", 1))
	if err := os.Symlink(outside, filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "campaign.json"), filepath.Join(dir, "b", "campaign.json")); err != nil {
		t.Fatal(err)
	}
	if _, page := ask(t, site(t, dir), "/"); strings.Contains(page, "elsewhere") {
		t.Error("a campaign outside of the folder is shown")
	}
}

func TestReportsAreSandboxed(t *testing.T) {
	s := site(t, shown(t))
	answer, _ := ask(t, s, "/files/now/jobs/001/hunt.html")
	csp := answer.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "sandbox allow-scripts;") || strings.Contains(csp, "allow-same-origin") || !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("a report may do %q", csp)
	}
	answer, _ = ask(t, s, "/")
	if csp := answer.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe-inline") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("the page may do %q", csp)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	dir := shown(t)
	here := site(t, dir)
	everywhere, err := New(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer everywhere.Close()
	for host, own := range map[string]bool{
		"127.0.0.1:7474": true, "127.0.0.2": true, "localhost:7474": true, "LocalHost": true, "localhost.": true, "[::1]:7474": true, "[::1]": true,
		"evil.example": false, "evil.example:7474": false, "127.0.0.1.evil.example": false, "localhost.evil.example:7474": false, "10.0.0.1:7474": false, "": false,
	} {
		for _, target := range []string{"/", "/api/state", "/files/now/jobs/001/hunt.html"} {
			as := func(r *http.Request) { r.Host = host }
			if answer, _ := ask(t, here, target, as); (answer.StatusCode == http.StatusOK) != own {
				t.Errorf("%s of %q: %s", target, host, answer.Status)
			}
			if answer, _ := ask(t, everywhere, target, as); answer.StatusCode != http.StatusOK {
				t.Errorf("%s of %q, where others are let in: %s", target, host, answer.Status)
			}
		}
	}
}

func TestMethods(t *testing.T) {
	s := site(t, shown(t))
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 405, "CONNECT": 405, "TRACE": 405} {
		for _, target := range []string{"/", "/api/state", "/files/now/jobs/001/hunt.html"} {
			if answer, _ := ask(t, s, target, func(r *http.Request) { r.Method = method }); answer.StatusCode != want {
				t.Errorf("%s %s: %s", method, target, answer.Status)
			}
		}
	}
}

func TestNothingToShow(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a page of nothing")
	}
	if _, err := New(Options{Dir: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a folder that is not there")
	}
	s := site(t, t.TempDir())
	if _, page := ask(t, s, "/"); !strings.Contains(page, "There is none yet") {
		t.Error("an empty folder's page does not say so")
	}
	if answer, _ := ask(t, s, "/nowhere"); answer.StatusCode != http.StatusNotFound {
		t.Error(fmt.Sprint("/nowhere: ", answer.Status))
	}
}
