package coordinator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/status"
	"github.com/picklock/picklock/fleet/stream/streamtest"
)

func pageOf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, status.PageFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPage: the page is there from the beginning, follows the results, says that the coordinator
// was interrupted, and at the end links to the reports.
func TestPage(t *testing.T) {
	s := streamtest.Serve(t)
	jobs := plan(t, file, inSlices)
	dir := t.TempDir()
	options := Options{Queue: streamtest.Connect(t, s), ID: "x-1", Name: "x", Jobs: jobs, Dir: dir}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan error, 1)
	go func() {
		_, err := Run(ctx, options)
		over <- err
	}()
	await := func(want string) {
		t.Helper()
		for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if b, err := os.ReadFile(filepath.Join(dir, status.PageFile)); err == nil && strings.Contains(string(b), want) {
				return
			}
		}
		t.Fatalf("the page never has %q", want)
	}
	await("running: 0 of 7 items done")
	q := streamtest.Connect(t, s)
	if err := q.Heartbeat(t.Context(), fleet.Worker{Name: "w1"}); err != nil {
		t.Fatal(err)
	}
	await("w1")
	if err := work(t, q, len(jobs), 2, usual); err != nil {
		t.Fatal(err)
	}
	await("running: 2 of 7 items done")
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if page := pageOf(t, dir); !strings.Contains(page, "stopped: 2 of 7 items done") || !strings.Contains(page, "was interrupted") {
		t.Error("the page does not say that the coordinator was interrupted")
	}
	worked := make(chan error, 1)
	go func() { worked <- work(t, q, len(jobs), 8, usual) }()
	out, err := Run(t.Context(), options)
	if err := both(t, err, worked); err != nil {
		t.Fatal(err)
	}
	if page := pageOf(t, dir); strings.Contains(page, "stopped") {
		t.Error("the page of a campaign that has all results says that it stopped")
	}
	out.Against, out.Changes = "yesterday", []fleet.Change{{Job: "matrix", Missing: true}}
	if err := out.Write(dir); err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, dir)
	for _, want := range []string{"finished: 10 of 10 items done", `href="jobs/001/hunt.html"`, `href="jobs/002/matrix.html"`, "Compared with yesterday"} {
		if !strings.Contains(page, want) {
			t.Errorf("the last page is without %q", want)
		}
	}
}

func TestPageWithoutAFolder(t *testing.T) {
	options := Options{Queue: streamtest.Queue(t), ID: "x-1", Name: "x", Jobs: plan(t, file, inSlices), Dir: filepath.Join(t.TempDir(), "none")}
	if _, err := Run(t.Context(), options); err == nil || !strings.Contains(err.Error(), "write campaign.html") {
		t.Errorf("%v", err)
	}
}
