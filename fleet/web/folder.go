package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/coordinator"
	huntreport "github.com/picklock/picklock/hunt/report"
	"github.com/picklock/picklock/results"
)

// folder is the folder that is shown. All that is read of it goes through root, which lets no
// path and no link lead out of it.
type folder struct {
	root *os.Root

	mu    sync.Mutex
	at    time.Time
	found State
}

const (
	// freshFor is how long what was found is shown again without looking.
	freshFor = 2 * time.Second
	// mostEntries is how many files and folders are looked at, so that a folder that is too
	// large to show (a home, a disk) costs no more than that.
	mostEntries = 200_000
	mostReports = 5_000
	deepest     = 12       // folders below the one that is shown
	largestJSON = 64 << 20 // of a campaign.json
	idFile      = "campaign.id"
	queueFolder = "queue" // of a campaign: the files of its JetStream
)

// kinds are the pages that are listed, by their files' names.
var kinds = map[string]string{results.ReportFile: "run", results.MatrixPage: "matrix", huntreport.PageFile: "hunt"}

var errEnough = errors.New("enough")

// look says what is below the folder.
func (f *folder) look(ctx context.Context) State {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && time.Since(f.at) < freshFor {
		return f.found
	}
	f.found = f.scan(ctx)
	f.at = time.Now()
	return f.found
}

func (f *folder) scan(ctx context.Context) State {
	var out State
	entries := 0
	err := fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if entries++; entries > mostEntries || ctx.Err() != nil {
			return errEnough
		}
		if err != nil {
			out.Trouble = append(out.Trouble, fmt.Sprintf("%s cannot be read: %v", name, err))
			return nil
		}
		return f.visit(&out, name, d)
	})
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errEnough):
		out.Trouble = append(out.Trouble, fmt.Sprintf("only the first %d files were looked at: show a smaller folder", mostEntries))
	case err != nil:
		out.Trouble = append(out.Trouble, err.Error())
	}
	return out
}

func (f *folder) visit(out *State, name string, d fs.DirEntry) error {
	if d.IsDir() {
		if name != "." && hidden(name) || strings.Count(name, "/") >= deepest || f.ofQueue(name) {
			return fs.SkipDir
		}
		if c, err := f.campaign(name); err != nil {
			out.Trouble = append(out.Trouble, err.Error())
		} else if c != nil {
			out.Campaigns = append(out.Campaigns, *c)
		}
		return nil
	}
	kind, ok := kinds[d.Name()]
	if !ok || !d.Type().IsRegular() {
		return nil
	}
	if len(out.Reports) == mostReports {
		out.Trouble = append(out.Trouble, fmt.Sprintf("only the first %d reports are listed: show a smaller folder", mostReports))
	}
	r := Report{Path: name, Kind: kind, Link: fileLink(name)}
	if info, err := d.Info(); err == nil {
		r.When = info.ModTime()
	}
	if len(out.Reports) <= mostReports {
		out.Reports = append(out.Reports, r)
	}
	return nil
}

// hidden says that a path has a part that begins with a dot: such files are nobody's reports.
func hidden(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return true
		}
	}
	return false
}

// ofQueue says that a path is a campaign's own queue, or below it.
func (f *folder) ofQueue(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if strings.EqualFold(path.Base(name), queueFolder) && f.has(path.Join(path.Dir(name), idFile)) {
			return true
		}
	}
	return false
}

func (f *folder) has(name string) bool {
	info, err := f.root.Stat(filepath.FromSlash(name))
	return err == nil && info.Mode().IsRegular()
}

// campaign reads the campaign in a folder; nil where there is none.
func (f *folder) campaign(dir string) (*Campaign, error) {
	file := path.Join(dir, coordinator.ReportFile)
	b, err := f.read(file, largestJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return f.begun(dir), nil
	}
	if err != nil {
		return nil, err
	}
	var r fleet.Report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s is no campaign's: %w", file, err)
	}
	c := reported("folder:"+dir, &r, func(j fleet.JobReport) string { return f.jobLink(dir, j) })
	c.Folder = dir
	return &c, nil
}

// reported is a campaign that has ended; link is the address of a job's report.
func reported(key string, r *fleet.Report, link func(fleet.JobReport) string) Campaign {
	c := Campaign{
		Key: key, ID: r.ID, Name: r.Name, Version: r.Version, State: Ended, Valid: r.Valid().String(), Started: r.Started, Finished: &r.Finished, report: r,
	}
	for _, j := range r.Jobs {
		c.Jobs = append(c.Jobs, Job{JobReport: j, Done: j.Items, Ended: true, Link: link(j)})
	}
	return c
}

// jobLink is the address of a job's report, if there is one: what campaign.json says of it may
// have been written by anybody.
func (f *folder) jobLink(dir string, j fleet.JobReport) string {
	if j.Page == "" || !fs.ValidPath(j.Folder) || !fs.ValidPath(j.Page) {
		return ""
	}
	name := path.Join(dir, j.Folder, j.Page)
	if hidden(name) || !f.has(name) {
		return ""
	}
	return fileLink(name)
}

// begun is a campaign that has come to nothing yet.
func (f *folder) begun(dir string) *Campaign {
	b, err := f.read(path.Join(dir, idFile), 1000)
	if err != nil {
		return nil
	}
	id := strings.TrimSpace(string(b))
	c := &Campaign{Key: "folder:" + dir, ID: id, Name: id, Folder: dir, State: NotEnded}
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		c.Name = id[:i]
	}
	if info, err := f.root.Stat(filepath.FromSlash(path.Join(dir, idFile))); err == nil {
		c.Started = info.ModTime()
	}
	return c
}

func (f *folder) read(name string, most int64) ([]byte, error) {
	if !f.has(name) { // opening a pipe would wait for its writer
		return nil, fs.ErrNotExist
	}
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes: it is not shown", name, most)
	}
	return b, nil
}

// fileLink is the address of a file below the folder.
func fileLink(name string) string { return (&url.URL{Path: filesPath + name}).EscapedPath() }

// verdictOf is the class of a job's verdict; "" while nothing can be said.
func verdictOf(j Job) string {
	switch {
	case j.Valid == checker.False:
		return "broken"
	case !j.Ended:
		return ""
	case j.Valid == checker.True:
		return "holds"
	}
	return "unknown"
}
