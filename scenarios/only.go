package scenarios

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
)

var onlyForm = pattern(`^(.*\S) within (\d\S*?)(?:, (.+))?$`)

// onlyIfWord ends the script, with nothing said of the lock, where an event does not come.
var onlyIfWord = stepWord{name: "only if", read: (*parser).only, after: (*order).await, take: (*Runner).await}

// only reads "B done within 10s, as it is where a lease ends": what must come for the
// rest to be worth running, and why it should.
func (p *parser) only(n *yaml.Node, st *Step, text string) error {
	m := onlyForm().FindStringSubmatch(text)
	if m == nil {
		return p.errorf(n, "only if: want an event and a limit, as B done within 10s")
	}
	limit, err := time.ParseDuration(m[2])
	if err != nil || limit <= 0 {
		return p.errorf(n, "only if: %q is no length of time", m[2])
	}
	if st.Await, err = p.event(n, m[1]); err != nil {
		return err
	}
	if st.Await.Or > 0 {
		return p.errorf(n, "only if: what need not come decides nothing: leave the \"or\" away")
	}
	st.Await.Within, st.Await.Reason = limit, m[3]
	return nil
}

// unfit is the reason for a script to end here.
func (a *Await) unfit() *Unfit {
	text := fmt.Sprintf("%s did not come within %v", a, a.Within)
	if a.Reason != "" {
		text += ", " + a.Reason
	}
	return &Unfit{text}
}
