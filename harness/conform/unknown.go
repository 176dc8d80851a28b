package conform

import (
	"context"

	lock "github.com/picklock/picklock/clients/exec"
)

func answersUnknown(ctx context.Context, t *checkRun) error {
	p, err := t.opened(ctx, "c1")
	if err != nil {
		return err
	}
	const remedy = `answer {"ok":false,"error":"unknown request","definite":true}: later versions may ask more`
	a, err := p.ask(ctx, lock.Request{Op: "what-nobody-knows", Key: t.key("k")}, answerWithin)
	if wrong, ok := asProblem(err); ok {
		return Problem{wrong.What, remedy}
	}
	if err != nil {
		return err
	}
	if a.ok() {
		return Problem{"it said ok to an op that there is not: " + quote(a.line), remedy}
	}
	return nil
}
