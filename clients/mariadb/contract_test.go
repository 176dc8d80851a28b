package mariadb

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

func TestMain(m *testing.M) {
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin") // Debian keeps servers there, off the PATH of most users
	servers.Main(m)
}

func startServer(t testing.TB) []*contract.Server {
	dir, port := t.TempDir(), servers.FreePort(t)
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"--no-defaults", "--datadir=" + data, "--port=" + port, "--bind-address=127.0.0.1", "--socket=" + filepath.Join(dir, "socket"),
		"--pid-file=" + filepath.Join(dir, "pid"), "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--skip-name-resolve", "--skip-grant-tables"}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	return []*contract.Server{servers.StartSaying(t, port, exec.Command(servers.Need(t, "mariadbd", "mariadb-server"), args...), "ready for connections")}
}

func TestContract(t *testing.T) {
	contract.RunAll(t,
		contract.Options{Lock: contract.Named(Locks(), "mariadb-session"), Start: startServer, Session: true},
		contract.Options{Lock: contract.Named(Locks(), "mariadb-table"), Start: startServer},
	)
}

func BenchmarkHandOver(b *testing.B) {
	contract.HandOver(b, contract.Options{Lock: contract.Named(Locks(), "mariadb-table"), Start: startServer})
}
