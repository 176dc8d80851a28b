package conform

import (
	"context"
	"fmt"

	lock "github.com/picklock/picklock/clients/exec"
)

func declares(_ context.Context, t *checkRun) error {
	a, err := lock.Declared(t.bench.opened)
	if err == nil {
		a, err = a.With(t.Abilities)
	}
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return Problem{fmt.Sprintf("it declared %s: %s", quote(t.bench.opened), misfit(err)), `see "What the lock can do" in docs/reference/exec.md`}
	}
	t.abilities = a
	return nil
}
