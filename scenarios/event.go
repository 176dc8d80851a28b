package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/meant"
	"go.yaml.in/yaml/v3"
)

// Await is what a step waits for. Every wait is for an event; a time is only ever
// given from an event on, or as the limit of a wait for what may not come.
type Await struct {
	What string // granted, waiting, ..., lease, after, key, gone, request, queued, fewer, quiet

	Client  string
	Servers []string
	N       int           // of queued, fewer and request
	For     time.Duration // of after and quiet
	Since   string        // of after: granted, asked or lease over
	Or      time.Duration // go on after this time even if it has not come; 0: it must come
	Within  time.Duration // of only if: the script is not for this lock if it has not come by then
	Reason  string        // of only if: why it should come
}

// clientWords are what can be awaited of a client.
var clientWords = []string{"granted", "waiting", "done", "lost", "failed", "refused"}

var (
	orForm     = regexp.MustCompile(`^(.*\S)\s+or\s+(\S+)$`)
	leaseForm  = regexp.MustCompile(`^lease of (\S+) over$`)
	afterForm  = regexp.MustCompile(`^(\S+) after (\S+) (granted|asked)$`)
	laterForm  = regexp.MustCompile(`^(\S+) after lease of (\S+) over$`)
	soonForm   = regexp.MustCompile(`^(\S+) before lease of (\S+) over$`)
	keyForm    = regexp.MustCompile(`^key (gone )?on (.+)$`)
	askForm    = regexp.MustCompile(`^(?:request|(\d+) requests) at (.+)$`)
	queueForm  = regexp.MustCompile(`^(?:at most )?(\d+) queued$`)
	quietForm  = regexp.MustCompile(`^quiet (\S+)$`)
	personForm = regexp.MustCompile(`^([A-Z]\S*) ([a-z]+)$`)
)

// event reads what a step waits for.
func (p *parser) event(n *yaml.Node, text string) (_ *Await, err error) {
	a := &Await{}
	if m := orForm.FindStringSubmatch(text); m != nil {
		text = m[1]
		if a.Or, err = time.ParseDuration(m[2]); err != nil || a.Or <= 0 {
			return nil, p.errorf(n, "await: %q is no length of time", m[2])
		}
	}
	number := ""
	length := func(s string) bool {
		a.For, err = time.ParseDuration(s)
		return err == nil && a.For > 0
	}
	if _, err := time.ParseDuration(text); err == nil {
		return nil, p.errorf(n, "await: a time alone is no event: say from when on, as %s after A granted", text)
	}
	switch {
	case match(leaseForm, text, &a.Client):
		a.What = "lease"
	case match(afterForm, text, &number, &a.Client, &a.Since):
		a.What = "after"
		if !length(number) {
			return nil, p.errorf(n, "await: %q is no length of time", number)
		}
	case match(laterForm, text, &number, &a.Client):
		a.What, a.Since = "after", "lease over"
		if !length(number) {
			return nil, p.errorf(n, "await: %q is no length of time", number)
		}
	case match(soonForm, text, &number, &a.Client):
		a.What, a.Since = "after", "lease over"
		if !length(number) {
			return nil, p.errorf(n, "await: %q is no length of time", number)
		}
		a.For = -a.For
	case match(queueForm, text, &number):
		a.What = "queued"
		if strings.HasPrefix(text, "at most") {
			a.What = "fewer"
		}
		if a.N, err = strconv.Atoi(number); err != nil {
			return nil, p.errorf(n, "await: %q is no number of clients", number)
		}
	case match(quietForm, text, &number):
		a.What = "quiet"
		if !length(number) {
			return nil, p.errorf(n, "await: %q is no length of time", number)
		}
	case keyForm.MatchString(text):
		m := keyForm.FindStringSubmatch(text)
		a.What = map[bool]string{true: "gone", false: "key"}[m[1] != ""]
		a.Servers, err = p.targets(n, "await", m[2])
		return a, err
	case askForm.MatchString(text):
		m := askForm.FindStringSubmatch(text)
		a.What, a.N = "request", 1
		if m[1] != "" {
			if a.N, err = strconv.Atoi(m[1]); err != nil || a.N < 1 {
				return nil, p.errorf(n, "await: %q is no number of requests", m[1])
			}
		}
		a.Servers, err = p.targets(n, "await", m[2])
		return a, err
	case match(personForm, text, &a.Client, &a.What):
		if !slices.Contains(clientWords, a.What) {
			return nil, p.errorf(n, "await: %q%s (of a client one can await %s)", a.What, meant.Word(a.What, clientWords), strings.Join(clientWords, ", "))
		}
	default:
		return nil, p.errorf(n, "await: %q is nothing that can be awaited: have A granted (or %s), lease of A over, 700ms after A granted, 200ms before lease of A over, key on S, key gone on S, request at S, 2 requests at S, 2 queued, at most 1 queued, quiet 200ms", text, strings.Join(clientWords[1:], ", "))
	}
	if a.Client != "" && !slices.Contains(p.s.Clients, a.Client) {
		return nil, p.noClient(n, a.Client)
	}
	return a, nil
}

// match puts the form's groups into words.
func match(form *regexp.Regexp, text string, words ...*string) bool {
	m := form.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, w := range words {
		*w = m[i+1]
	}
	return true
}

func (a *Await) String() string {
	text := map[string]string{
		"lease": "the end of " + a.Client + "'s lease", "after": fmt.Sprintf("%v after %s %s", a.For, a.Client, a.Since),
		"key": "the key on " + strings.Join(a.Servers, ", "), "gone": "the end of the key on " + strings.Join(a.Servers, ", "),
		"request": fmt.Sprintf("%s at %s", map[bool]string{true: "a request", false: fmt.Sprintf("%d requests", a.N)}[a.N == 1], strings.Join(a.Servers, ", ")), "queued": fmt.Sprintf("%d in line", a.N), "fewer": fmt.Sprintf("at most %d in line", a.N), "quiet": fmt.Sprintf("%v of quiet", a.For),
	}[a.What]
	if a.For < 0 {
		text = fmt.Sprintf("%v before the end of %s's lease", -a.For, a.Client)
	}
	if text == "" {
		text = a.Client + " " + a.What
	}
	return text
}
