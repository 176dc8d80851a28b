package results

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// GitHub tells GitHub Actions of a matrix, if it runs there: the table as the step's
// summary, and one annotation for every cell that is not as it should be. env is
// os.Getenv. Annotations go to w, unless that carries JSON.
func GitHub(m *Matrix, env func(string) string, w io.Writer, asJSON bool) error {
	if path := env("GITHUB_STEP_SUMMARY"); path != "" {
		var b bytes.Buffer
		fmt.Fprintf(&b, "## picklock: %s\n\n", m.headlineOf())
		if err := MatrixMD(&b, m); err != nil {
			return err
		}
		b.WriteString(m.causesMD())
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("write the step's summary: %w", err)
		}
		if _, err := f.Write(b.Bytes()); err != nil {
			f.Close()
			return fmt.Errorf("write the step's summary: %w", err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("write the step's summary: %w", err)
		}
	}
	if env("GITHUB_ACTIONS") != "true" || asJSON {
		return nil
	}
	for _, c := range m.Cells {
		level := map[State]string{Unexpected: "error", Violated: "error", Inconclusive: "warning"}[c.State()]
		if level == "" {
			continue
		}
		title := fmt.Sprintf("%s on %s, fencing %s", c.Scenario, c.Lock, c.Fencing)
		text := firstNonEmpty(c.Why, c.Sentence)
		if c.Why != "" && c.Sentence != "" {
			text = c.Why + ". " + c.Sentence
		}
		if len(c.Causes) > 0 {
			text += ". " + c.Causes[0].String()
		}
		if _, err := fmt.Fprintf(w, "::%s title=%s::%s\n", level, annotationTitle.Replace(clip(title, 200)), annotation.Replace(clip(text, 2000))); err != nil {
			return err
		}
	}
	return nil
}

// causesMD lists why the cells that are not as they should be broke, and the mitigation.
func (m *Matrix) causesMD() string {
	var b strings.Builder
	for _, c := range m.Cells {
		if s := c.State(); s != Unexpected && s != Violated || len(c.Causes) == 0 {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\n### What broke, by root cause\n\n")
		}
		fmt.Fprintf(&b, "- %s on %s, fencing %s\n", markdownEscaper.Replace(clip(c.Scenario, 100)), markdownEscaper.Replace(clip(c.Lock, 100)), markdownEscaper.Replace(clip(c.Fencing, 40)))
		for _, cause := range summed(c.Causes) {
			fmt.Fprintf(&b, "  - %s\n", markdownEscaper.Replace(cause))
		}
	}
	return b.String()
}

// A history's words must not become commands to the runner.
var (
	annotation      = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	annotationTitle = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
