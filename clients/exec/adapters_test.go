package exec

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/internal/testkit"
)

// The adapters of docs/examples: what their libraries do without a fault, and whether the adapters
// report the outcomes that those give.
func TestAdapters(t *testing.T) {
	python := func(t testing.TB, module string) {
		if out, err := exec.Command(servers.Need(t, "/usr/bin/python3", "python3"), "-c", "import "+module).CombinedOutput(); err != nil {
			testkit.Need(t, "python3-"+module, fmt.Errorf("apt install python3-%s (%s)", module, complaint(out)))
		}
	}
	examples, err := filepath.Abs("../../docs/examples")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		title   string
		command func(testing.TB) string
		contract.Options
		signals bool // the library signals a loss
	}{
		{
			title: "redis-py",
			command: func(t testing.TB) string {
				python(t, "redis")
				return "/usr/bin/python3 " + examples + "/redis_py_lock.py"
			},
			// It gives up one sleep before the deadline.
			Options: contract.Options{TTL: time.Second, Cut: "unknown", Start: func(t testing.TB) []*contract.Server { return servers.Redis(t, 1) }, Without: []string{contract.Vain}},
		},
		{
			title: "kazoo",
			command: func(t testing.TB) string {
				python(t, "kazoo")
				return "/usr/bin/python3 " + examples + "/kazoo_lock.py"
			},
			// Its release never says that the lock was gone.
			Options: contract.Options{TTL: time.Second, Session: true, Start: servers.ZooKeeper, Without: []string{contract.Loss}},
			signals: true,
		},
		{
			title:   "curator",
			command: compileCurator(examples),
			Options: contract.Options{TTL: time.Second, Session: true, Start: servers.ZooKeeper, Without: []string{contract.Loss}}, // as with kazoo
			signals: true,
		},
		{
			title:   "node-redlock",
			command: func(t testing.TB) string { node(t); return "node " + examples + "/node_redlock.mjs" },
			Options: contract.Options{TTL: time.Second, Start: func(t testing.TB) []*contract.Server { return servers.Redis(t, 5) }},
		},
	}
	for _, tc := range tests {
		t.Run(tc.title, func(t *testing.T) {
			t.Parallel()
			u := tc.Options
			u.Lock = named("exec:" + tc.command(t))
			contract.Run(t, u)
			if tc.signals {
				t.Run("loss signal", func(t *testing.T) { contract.LossSignal(t, u, u.Start(t)) })
			}
		})
	}
}

// compileCurator compiles the adapter once: every client's JVM doing so at its start
// would take long on a busy machine.
func compileCurator(examples string) func(testing.TB) string {
	return func(t testing.TB) string {
		servers.Need(t, "java", "default-jre-headless")
		if _, err := os.Stat("/usr/share/java/curator-recipes.jar"); err != nil {
			testkit.Need(t, "curator", errors.New("apt install libcurator-recipes-java"))
		}
		script, classes := examples+"/curator_lock.sh", t.TempDir()
		if out, err := exec.Command("sh", script, "compile", classes).CombinedOutput(); err != nil {
			t.Fatalf("compile the adapter: %v\n%s", err, out)
		}
		return "sh " + script + " " + classes
	}
}

// node skips the test where node or the libraries from npm are missing.
func node(t testing.TB) {
	servers.Need(t, "node", "nodejs")
	cmd := exec.Command("node", "--input-type=module", "-e", `import "redlock"; import "ioredis"`)
	if out, err := cmd.CombinedOutput(); err != nil {
		testkit.Need(t, "node-redlock", fmt.Errorf("npm install redlock ioredis, above this folder (%s)", complaint(out)))
	}
}

// complaint is the line of a program's output that names the error.
func complaint(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "Error") {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(string(out))
}
