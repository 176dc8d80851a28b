package harness

import (
	"fmt"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
)

// fits says why a lock cannot be used with a discipline; nil if it can.
func fits(lock clients.Info, d register.FencingMode) error {
	switch {
	case lock.IsExec() && d.Asks():
		return fmt.Errorf("lock %s cannot be asked whether a grant is in force: --fencing %s is not for it", lock.Name, d)
	case lock.Declares:
		return nil // it will say it itself
	case d.Fenced() && !lock.Fencing && lock.IsExec():
		return fmt.Errorf(`the program declares no tokens: it answered open without "tokens":true: use --fencing none, or say --ability tokens=yes`)
	case d.Fenced() && !lock.Fencing:
		return fmt.Errorf("lock %s gives no fencing tokens: use --fencing none", lock.Name)
	case d.Asks() && lock.Sequencer == nil:
		return fmt.Errorf("lock %s cannot be asked whether a grant is in force: --fencing %s is not for it", lock.Name, d)
	}
	return nil
}
