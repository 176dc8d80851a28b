package results

import (
	"bytes"
	"strings"
	"testing"
)

// The paces stand in the page and in the Markdown, and what they quote is text.
func TestMatrixPaces(t *testing.T) {
	m := &Matrix{Paces: []Pace{
		{
			Lock: "redis", Clients: 5, Alone: &Waited{P50: 150_000, P99: 2_000_000}, Contended: &Waited{P50: 40e6, P99: 1.5e9}, Rate: 812.4,
			Fault: "kill:one", Faults: 3, Recovered: &Waited{P50: 20e6, Max: 1e9}, Dirs: []string{"pace/redis_alone"},
		},
		{Lock: "<script>alert(1)</script>", Clients: 5, Why: "alone: <b>no</b> | server"},
	}}
	var page, md bytes.Buffer
	if err := MatrixHTML(&page, m); err != nil {
		t.Fatal(err)
	}
	if err := MatrixMD(&md, m); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What it costs", `<a href="pace/redis_alone/report.html">redis</a>`, "0.15 ms / 2 ms", "40 ms / 1.5 s", "812", "20 ms / 1 s (kill:one, 3 faults)", "&lt;script&gt;alert", "alone: &lt;b&gt;no"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if want := "| redis | 0.15 ms / 2 ms | 40 ms / 1.5 s | 812 | 20 ms / 1 s (kill:one, 3 faults) |"; !strings.Contains(md.String(), want) {
		t.Errorf("the table lacks %q:\n%s", want, md.String())
	}
	if strings.Contains(page.String(), "<script>alert") || strings.Contains(md.String(), "<b>no</b> | server") {
		t.Error("what a server said became markup")
	}
}

// Where nothing was measured nothing is said.
func TestMatrixWithoutPaces(t *testing.T) {
	var page, md bytes.Buffer
	if err := MatrixHTML(&page, &Matrix{}); err != nil {
		t.Fatal(err)
	}
	if err := MatrixMD(&md, &Matrix{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "What it costs") || strings.Contains(md.String(), "granted in") {
		t.Errorf("a table of nothing:\n%s", md.String())
	}
}
