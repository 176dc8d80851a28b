package testbeds

import (
	"errors"
	"fmt"
	"strings"
)

// failure is what went wrong with one testbed.
type failure struct {
	testbed *testbed
	err     error
}

// once joins the failures of so many testbeds. What is the same but for the testbeds' own folders is
// said once, with how many it is of: they mostly fail for one reason.
func once(all []failure, testbeds int) error {
	var first []error
	count := map[string]int{} // by text
	var texts []string
	for _, f := range all {
		if f.err == nil {
			continue
		}
		text := strings.ReplaceAll(f.err.Error(), f.testbed.config.Dir, "")
		if count[text]++; count[text] == 1 {
			texts, first = append(texts, text), append(first, f.err)
		}
	}
	for i, text := range texts {
		if n := count[text]; n > 1 {
			first[i] = fmt.Errorf("%w (the same of %d of %d testbeds)", first[i], n, testbeds)
		}
	}
	return errors.Join(first...)
}
