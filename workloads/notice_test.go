package workloads

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

// A client that does not listen to its library must not say that this promised to report a loss: no notice of it can be in the history.
func TestNoNoticeIsExpectedOfWhoDoesNotListen(t *testing.T) {
	for _, ignores := range []bool{false, true} {
		var out bytes.Buffer
		c := &client{
			cfg: Config{Settings: Settings{TTL: time.Second, IgnoreLost: ignores}}, info: clients.Info{Notifies: true},
			out: &output{w: &out}, opened: &opened{},
		}
		c.cfg.Wait = time.Second
		h, err := c.acquireWith(t.Context(), "k", "", func(context.Context, string) (clients.Grant, error) { return clients.Grant{Key: "k"}, nil })
		if err != nil {
			t.Fatal(err)
		}
		h.stop()
		h.watching.Wait()
		if says := strings.Contains(out.String(), `"notifies":true`); says == ignores {
			t.Errorf("ignores %v: %s", ignores, out.String())
		}
	}
}
