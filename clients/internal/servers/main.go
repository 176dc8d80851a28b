package servers

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/clients/contract"
)

// Part is something that a test binary does in a process of its own, which can be
// killed: the tests start their own binary with Variable set. Do gets its value.
type Part struct {
	Variable string
	Do       func(value string) error
}

// Start starts the part, which then answers at the port.
func (p Part) Start(t testing.TB, port, value string) []*contract.Server {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), p.Variable+"="+value)
	return []*contract.Server{Start(t, port, cmd)}
}

// Main is a TestMain: it does the part that this process is there for, or runs the tests,
// which have to leave no goroutine behind.
func Main(m *testing.M, parts ...Part) {
	for _, p := range parts {
		if v := os.Getenv(p.Variable); v != "" {
			fmt.Fprintln(os.Stderr, p.Do(v))
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}
