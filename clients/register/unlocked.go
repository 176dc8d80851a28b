package register

import (
	"errors"
	"fmt"

	"github.com/picklock/picklock/history"
)

// Unlocked are the settings of a request from clients that share the resource without a lock.
type Unlocked struct {
	// If is the version that the key must have, the one that the client had read: a
	// compare-and-set. Otherwise the write or add is refused. nil: any version.
	If *int64 `json:"if_version,omitempty"`
	// Merge lets an add extend what the key holds then, instead of Parent.
	Merge bool `json:"merge,omitempty"`
	// Once is an idempotency key: of several requests with the same one, the first that
	// is carried out counts. The others get its answer and have no effect.
	Once string `json:"once,omitempty"`
}

// done is the outcome for an idempotency key.
type done struct {
	value   string
	version int64
}

func (u Unlocked) valid(r Request) error {
	switch {
	case u == (Unlocked{}):
		return nil
	case r.F == history.Read:
		return errors.New("a read has no condition and no idempotency key")
	case u.Merge && (r.F != history.Add || r.Parent != ""):
		return errors.New("only an add can be merged, and it names no parent then")
	case u.If != nil && *u.If < 0:
		return fmt.Errorf("negative version %d", *u.If)
	}
	return nil
}

// again finds the answer to a request that was carried out before. The effect has no sequence
// number: there is no new one.
func (c *cell) again(r Request) (e history.Effect, ok bool, err error) {
	d, ok := c.once[r.Once]
	if !ok || r.Once == "" {
		return e, false, nil
	}
	if d.value != r.Value {
		return e, false, fmt.Errorf("idempotency key %q was used for %q before", r.Once, d.value)
	}
	return history.Effect{Value: d.value, Version: d.version}, true, nil
}

// outdated returns the reason to refuse a request based on an older version, or "".
func (c *cell) outdated(u Unlocked) string {
	if u.If == nil || *u.If == c.version {
		return ""
	}
	return fmt.Sprintf("version %d, not %d: another wrote since the read", c.version, *u.If)
}

// remember notes that a request was carried out.
func (c *cell) remember(r Request) {
	if r.Once == "" {
		return
	}
	if c.once == nil {
		c.once = map[string]done{}
	}
	c.once[r.Once] = done{r.Value, c.version}
}
