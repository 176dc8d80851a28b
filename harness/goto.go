package harness

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/picklock/picklock/workloads"
)

// goTo has clients go on to other keys, with their connections open. timeout is how long they wait for an answer from then on; 0: the testbed's own.
func (sc *script) goTo(ctx context.Context, clients []string, timeout time.Duration, key func(client string) string) error {
	within := time.NewTimer(openWithin)
	defer within.Stop()
	var all []<-chan workloads.Done
	for _, name := range clients {
		done, err := sc.tell(name, workloads.Command{Do: workloads.CommandKey, Key: key(name), Timeout: timeout, WarmKey: sc.warmKey(name, key(name))})
		if err != nil {
			return err
		}
		all = append(all, done)
	}
	for i, done := range all {
		select {
		case d := <-done:
			if d.Error != "" {
				return fmt.Errorf("%s did not go on to another key: %s", clients[i], d.Error)
			}
		case <-within.C:
			return fmt.Errorf("%s did not go on to another key within %v", clients[i], openWithin)
		case err := <-sc.workers.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// connectsLate says that the lock's client may connect at its first request, as programs and libraries do.
func (sc *script) connectsLate() bool {
	return sc.lock.ConnectsLate || sc.lock.IsExec() || sc.lock.Library != nil
}

// warmKey is a key that no other client and no other run asks for (workloads.Command.WarmKey): of a lock whose client may
// connect at its first request. It is made of what each kind of service takes for a name.
func (sc *script) warmKey(client, key string) string {
	if !sc.connectsLate() {
		return ""
	}
	return "warm" + strings.ToLower(client) + key
}
