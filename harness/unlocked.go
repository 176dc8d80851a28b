package harness

import (
	"fmt"

	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// unlocked says what of the options makes no sense where there is no lock.
func (p *plan) unlocked() error {
	if p.lock.Unlocked == nil {
		return nil
	}
	name := p.lock.Name
	switch {
	case p.Workload != history.Add: // the workload is called as what it does
		return fmt.Errorf("%s is no lock: its updates are those of --workload %s", name, history.Add)
	case p.Renew || p.CheckLease || p.IgnoreLost:
		return fmt.Errorf("%s is no lock: it has no lease for --renew, --check-lease or --ignore-lost", name)
	case p.backend.OpenAdmin != nil:
		return fmt.Errorf("%s is no lock: what it asks of the register (conditions, idempotency keys) only --register %s has", name, register.Builtin)
	case len(p.Require) > 0:
		return fmt.Errorf("%s is no lock: only the register is judged, nothing else can be required", name)
	}
	return nil
}
