package status

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/results"
)

// PageFile is the page of a campaign, in its folder.
const PageFile = "campaign.html"

//go:embed assets/campaign.html.tmpl
var pageHTML string

//go:embed assets/campaign.css
var pageCSS string

//go:embed assets/campaign.js
var pageJS string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("campaign").Funcs(template.FuncMap{
		"clean": Clean, "when": when, "activity": activity, "rate": perSecond, "link": link, "word": Word,
	}).Parse(pageHTML))
})

// page is what the template gets.
type page struct {
	*Status
	CSP     string
	CSS     template.CSS
	JS      template.JS
	Summary string
	Written time.Time
}

// Page is campaign.html: one file that needs no server and no network.
func (s *Status) Page(written time.Time) ([]byte, error) {
	css := results.CSS() + pageCSS
	p := page{
		Status: s, CSP: results.CSP(css, pageJS), CSS: template.CSS(css), JS: template.JS(pageJS), //nolint:gosec // our own files
		Written: written, Summary: s.summary(),
	}
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, p); err != nil {
		return nil, fmt.Errorf("make %s: %w", PageFile, err)
	}
	return b.Bytes(), nil
}

// Verdict is the campaign's verdict; "" while it runs and nothing failed.
func (s *Status) Verdict() string { return Word(s.Valid) }

// Class is the verdict as the styles name it.
func (s *Status) Class() string { return class(s.Verdict()) }

// Class is the verdict as the styles name it.
func (j Job) Class() string { return class(j.Verdict()) }

func class(verdict string) string {
	switch verdict {
	case "pass":
		return "holds"
	case "fail":
		return "broken"
	}
	return verdict
}

// link is the address of a job's report, below the campaign's folder; "" if there is none.
func link(j fleet.JobReport) string {
	if j.Page == "" || !fs.ValidPath(j.Folder) || !fs.ValidPath(j.Page) {
		return ""
	}
	return path.Join(j.Folder, j.Page)
}

// WritePage writes the page into a folder. A reader sees the old page or the new one, never a
// part of it.
func (s *Status) WritePage(dir string) error {
	b, err := s.Page(time.Now())
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+PageFile+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", PageFile, err)
	}
	defer os.Remove(f.Name()) // if it was renamed there is nothing to remove
	_, err = f.Write(b)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, PageFile))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", PageFile, err)
	}
	return nil
}
