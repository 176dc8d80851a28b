package lanes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/picklock/picklock/harness"
)

func TestOnce(t *testing.T) {
	var all []failure
	add := func(format string, args ...any) {
		l := &lane{config: harness.LaneConfig{Dir: fmt.Sprintf("/tmp/x/lane-%d", len(all)+1)}}
		f := failure{lane: l}
		if format != "" {
			f.err = fmt.Errorf(strings.ReplaceAll(format, "DIR", l.config.Dir), args...)
		}
		all = append(all, f)
	}
	add("%w: no redis-server (see DIR/lane.log)", harness.ErrUsage)
	add("")
	add("%w: no redis-server (see DIR/lane.log)", harness.ErrUsage)
	add("port 7 is taken")
	err := once(all, 4)
	const want = ": no redis-server (see /tmp/x/lane-1/lane.log) (the same of 2 of 4 lanes)\nport 7 is taken"
	if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Count(err.Error(), "redis-server") != 1 || !errors.Is(err, harness.ErrUsage) {
		t.Errorf("%v", err)
	}
	if err := once([]failure{{}, {}}, 2); err != nil {
		t.Errorf("nothing failed: %v", err)
	}
}
