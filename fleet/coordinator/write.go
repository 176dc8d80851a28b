package coordinator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/status"
	huntreport "github.com/picklock/picklock/hunt/report"
	"github.com/picklock/picklock/results"
)

// The files of a campaign's folder. Other tools read them.
const (
	ReportFile = "campaign.json"
	JUnitFile  = "junit.xml"
)

// Write writes the campaign's results into a folder: campaign.json, junit.xml, campaign.html,
// and for each job a folder with its reports. It sets the folder and the page of each job.
func (o *Outcome) Write(dir string) error {
	for i := range o.Report.Jobs {
		j := &o.Report.Jobs[i]
		folder := filepath.Join("jobs", fmt.Sprintf("%03d", j.Number+1))
		if h := o.Hunts[j.Number]; h != nil {
			if err := huntreport.WriteTo(filepath.Join(dir, folder), h); err != nil {
				return err
			}
			j.Folder, j.Page = filepath.ToSlash(folder), huntreport.PageFile
		}
		if m := o.Cells[j.Number]; m != nil {
			if err := writeCells(filepath.Join(dir, folder), m, o.Pages[j.Number]); err != nil {
				return err
			}
			j.Folder, j.Page = filepath.ToSlash(folder), results.MatrixPage
		}
	}
	var b bytes.Buffer
	if err := junit(&b, o.Report); err != nil {
		return err
	}
	if err := write(dir, JUnitFile, b.Bytes()); err != nil {
		return err
	}
	page := status.Of(o.Report)
	page.Against, page.Changes = o.Against, o.Changes
	if err := page.WritePage(dir); err != nil {
		return err
	}
	text, err := json.MarshalIndent(o.Report, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", ReportFile, err)
	}
	return write(dir, ReportFile, append(text, '\n')) // last: if it exists, all other files do
}

func writeCells(folder string, m *results.Matrix, pages map[string][]byte) error {
	if err := results.WriteMatrix(folder, m); err != nil {
		return err
	}
	for cell, page := range pages {
		if err := write(filepath.Join(folder, filepath.FromSlash(cell)), results.ReportFile, page); err != nil {
			return err
		}
	}
	return nil
}

func write(dir, name string, b []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Read reads campaign.json.
func Read(dir string) (*fleet.Report, error) {
	b, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil {
		return nil, fmt.Errorf("read the campaign in %s: %w", dir, err)
	}
	var r fleet.Report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, ReportFile), err)
	}
	return &r, nil
}

// junit writes a suite with a case for each job.
func junit(b *bytes.Buffer, r *fleet.Report) error {
	s := results.JUnitSuite{Name: "picklock.campaign." + r.Name, Time: fmt.Sprintf("%.3f", r.Finished.Sub(r.Started).Seconds()), Tests: len(r.Jobs)}
	for _, j := range r.Jobs {
		c := results.JUnitCase{Name: j.Name, Class: s.Name, Time: fmt.Sprintf("%.3f", j.Seconds)}
		switch j.Valid {
		case checker.False:
			f := &results.JUnitFailure{Message: j.Headline, Type: "fail"}
			for _, x := range j.Findings {
				f.Text += x.String() + "\n"
			}
			c.Failure = f
			s.Failures++
		case checker.Unknown:
			c.Skipped = &results.JUnitSkipped{Message: "unknown: " + j.Headline}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	return results.WriteJUnit(b, s)
}
