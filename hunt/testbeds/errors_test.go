package testbeds

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
		l := &testbed{config: harness.TestbedConfig{Dir: fmt.Sprintf("/tmp/x/testbed-%d", len(all)+1)}}
		f := failure{testbed: l}
		if format != "" {
			f.err = fmt.Errorf(strings.ReplaceAll(format, "DIR", l.config.Dir), args...)
		}
		all = append(all, f)
	}
	add("%w: no redis-server (see DIR/testbed.log)", harness.ErrUsage)
	add("")
	add("%w: no redis-server (see DIR/testbed.log)", harness.ErrUsage)
	add("port 7 is taken")
	err := once(all, 4)
	const want = ": no redis-server (see /tmp/x/testbed-1/testbed.log) (the same of 2 of 4 testbeds)\nport 7 is taken"
	if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Count(err.Error(), "redis-server") != 1 || !errors.Is(err, harness.ErrUsage) {
		t.Errorf("%v", err)
	}
	if err := once([]failure{{}, {}}, 2); err != nil {
		t.Errorf("nothing failed: %v", err)
	}
}
