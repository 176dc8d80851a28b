package testkit

import (
	"errors"
	"fmt"
	"testing"
)

// recorded notes what is done to a test.
type recorded struct {
	testing.TB
	did string
}

func (r *recorded) Helper()                        {}
func (r *recorded) Fatalf(format string, a ...any) { r.did = "fail: " + fmt.Sprintf(format, a...) }
func (r *recorded) Skipf(format string, a ...any)  { r.did = "skip: " + fmt.Sprintf(format, a...) }

func TestNeed(t *testing.T) {
	gone := errors.New("no engine answers")
	for _, tt := range []struct {
		require, what string
		err           error
		did           string
	}{
		{"docker", "docker", nil, ""},
		{"", "docker", gone, "skip: left out, docker is missing: no engine answers"},
		{"chromium,redis", "docker", gone, "skip: left out, docker is missing: no engine answers"},
		{"chromium,docker", "docker", gone, "fail: docker is required here (PICKLOCK_TEST_REQUIRE) and missing: no engine answers"},
		{"all", "docker", gone, "fail: docker is required here (PICKLOCK_TEST_REQUIRE) and missing: no engine answers"},
	} {
		t.Setenv(RequireEnv, tt.require)
		r := &recorded{}
		Need(r, tt.what, tt.err)
		if r.did != tt.did {
			t.Errorf("%q, %s: %q, want %q", tt.require, tt.what, r.did, tt.did)
		}
	}
}
