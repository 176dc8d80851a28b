package register_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if code, done := serveBuiltin(); done {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
