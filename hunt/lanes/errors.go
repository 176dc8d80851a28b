package lanes

import (
	"errors"
	"fmt"
	"strings"
)

// failure is what went wrong with one lane.
type failure struct {
	lane *lane
	err  error
}

// once joins the failures of so many lanes. What is the same but for the lanes' own folders is
// said once, with how many it is of: they mostly fail for one reason.
func once(all []failure, lanes int) error {
	var first []error
	count := map[string]int{} // by text
	var texts []string
	for _, f := range all {
		if f.err == nil {
			continue
		}
		text := strings.ReplaceAll(f.err.Error(), f.lane.config.Dir, "")
		if count[text]++; count[text] == 1 {
			texts, first = append(texts, text), append(first, f.err)
		}
	}
	for i, text := range texts {
		if n := count[text]; n > 1 {
			first[i] = fmt.Errorf("%w (the same of %d of %d lanes)", first[i], n, lanes)
		}
	}
	return errors.Join(first...)
}
