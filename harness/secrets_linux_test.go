//go:build linux

package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/access"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/results"
)

const secret = "hidden-word-of-the-test"

// guarded is a server that speaks TLS only and asks for a password, and what is known of it.
type guarded struct {
	addr     string
	ca       string
	cert     string // and key: of the server, where another has them, too
	key      string
	username string
	lock     string
	found    string                   // what pause-holder finds
	admit    func()                   // lets clients in otherwise than by PICKLOCK_PASSWORD; nil for that
	deny     func()                   // has clients come with another password, where that is not PICKLOCK_PASSWORD
	args     []string                 // more of such a run's flags
	dump     func() map[string]string // all that it keeps
}

func redisBehindTLS(t *testing.T) guarded {
	t.Helper()
	testkit.NeedProgram(t, "redis-server", "apt-get install redis-server")
	g := guarded{addr: freeAddr(t), username: "locks", lock: "redis", found: "stale-write"}
	_, port, _ := net.SplitHostPort(g.addr)
	ca, cert, key := testkit.Certificate(t)
	g.ca, g.cert, g.key = ca, cert, key
	// In a file: the test looks for the word on command lines.
	config := filepath.Join(t.TempDir(), "redis.conf")
	text := fmt.Sprintf("port 0\ntls-port %s\nbind 127.0.0.1\nsave \"\"\ndir %s\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\ntls-auth-clients no\nuser default off\nuser locks on >%s ~* &* +@all\n",
		port, t.TempDir(), cert, key, ca, secret)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	startOutside(t, g.addr, exec.Command("redis-server", config))
	tls, err := access.Access{TLS: true, CA: ca}.Config("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	db := redis.NewClient(&redis.Options{Addr: g.addr, TLSConfig: tls, Username: "locks", Password: secret})
	t.Cleanup(func() { db.Close() })
	if err := db.MSet(t.Context(), "k0", "not yours", "picklock-k0", "nor this").Err(); err != nil {
		t.Fatal(err)
	}
	g.dump = func() map[string]string { return keysOf(t, db) }
	return g
}

// onCommandLines looks for the secret on the command lines of all processes until ctx ends.
func onCommandLines(ctx context.Context) <-chan []string {
	out := make(chan []string, 1)
	go func() {
		seen := map[string]bool{}
		for ctx.Err() == nil {
			lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, path := range lines {
				if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(secret)) {
					seen[string(bytes.ReplaceAll(text, []byte{0}, []byte{' '}))] = true
				}
			}
			time.Sleep(10 * time.Millisecond) // no event tells of a new process
		}
		out <- slices.Sorted(maps.Keys(seen))
	}()
	return out
}

// With TLS and a password, a run finds what it finds on servers of picklock's own, leaves
// the server as it was, and tells nobody the password.
func TestEndpointBehindTLSAndAPassword(t *testing.T) {
	for name, start := range map[string]func(*testing.T) guarded{
		"redis": redisBehindTLS, "sentinel": sentinelBehindTLS, "open sentinel": openSentinelBehindTLS, "etcd": etcdBehindTLS, "postgres": postgresBehindTLS, "zookeeper": zookeeperBehindTLS,
		"consul": consulBehindTLS, "dynamodb": dynamoBehindTLS, "kubernetes": kubernetesBehindTLS,
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			before := g.dump()
			t.Setenv("PICKLOCK_TLS_CA", g.ca)
			t.Setenv("PICKLOCK_USERNAME", g.username)
			t.Setenv("PICKLOCK_PASSWORD", secret)
			if g.admit != nil {
				g.admit()
			}
			ctx, cancel := context.WithCancel(t.Context())
			told := onCommandLines(ctx)
			dir := filepath.Join(t.TempDir(), "run")
			stdout, stderr, code := command(t, append([]string{"scenario", "run", "pause-holder", "--lock", g.lock, "--endpoint", g.addr, "--json", "--out", dir}, g.args...)...)
			cancel()
			if lines := <-told; len(lines) > 0 {
				t.Errorf("the password is on the command lines %q", lines)
			}
			var c results.Cell
			if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != 0 || c.Found[g.found] == 0 {
				t.Errorf("exit %d, found %v, want %s: %v\n%s", code, c.Found, g.found, err, stderr)
			}
			if strings.Contains(stdout+stderr, secret) {
				t.Error("it is in what the run said")
			}
			files := 0
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				files++
				text, err := os.ReadFile(path)
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("it is in %s", path)
				}
				return err
			})
			if err != nil || files < 5 {
				t.Errorf("%d files of the run, %v", files, err)
			}
			if wrong := looks(t, g); wrong != "" {
				t.Errorf("it could not look into the server:\n%s", wrong)
			}
			if wrong := leavesNothing(t, g, before); wrong != "" {
				t.Errorf("clean: %s", wrong)
			}
			if after := g.dump(); !maps.Equal(before, after) {
				t.Errorf("the server has %v, had %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
			}
			t.Setenv("PICKLOCK_PASSWORD", "another word")
			if g.deny != nil {
				g.deny()
			}
			if o := picklock(t, "--lock", g.lock, "--endpoint", g.addr, "--duration", "2s"); o.code != 255 || !strings.Contains(o.stderr, "does not accept this run") {
				t.Errorf("with another password: exit %d\n%s", o.code, o.stderr)
			}
		})
	}
}

// etcdBehindTLS is picklock's own etcd, with users.
func etcdBehindTLS(t *testing.T) guarded {
	t.Helper()
	g := guarded{addr: freeAddr(t), username: "root", lock: "etcd", found: "stale-write"}
	ca, cert, key := testkit.Certificate(t)
	g.ca = ca
	peer := "http://" + freeAddr(t)
	startOutside(t, g.addr, exec.Command(program, "server", "etcd", "--name=etcd", "--data-dir="+t.TempDir(),
		"--listen-client-urls=https://"+g.addr, "--advertise-client-urls=https://"+g.addr, "--cert-file="+cert, "--key-file="+key,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=etcd="+peer,
		"--heartbeat-interval=50", "--election-timeout=500", "--unsafe-no-fsync", "--log-level=error"))
	tls, err := access.Access{TLS: true, CA: ca}.Config("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	connect := func(username, password string) *clientv3.Client {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + g.addr}, TLS: tls, Username: username, Password: password, DialTimeout: time.Minute, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := connect("", "")
	ctx := t.Context()
	_, err1 := c.UserAdd(ctx, "root", secret)
	_, err2 := c.RoleAdd(ctx, "root")
	_, err3 := c.UserGrantRole(ctx, "root", "root")
	_, err4 := c.AuthEnable(ctx)
	if err := errors.Join(err1, err2, err3, err4, c.Close()); err != nil {
		t.Fatal(err)
	}
	c = connect("root", secret)
	t.Cleanup(func() { c.Close() })
	for _, key := range []string{"k0", "/picklock/k0/1", "/picklock/picklock-k0"} {
		if _, err := c.Put(ctx, key, "not yours"); err != nil {
			t.Fatal(err)
		}
	}
	g.dump = func() map[string]string {
		r, err := c.Get(ctx, "", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, kv := range r.Kvs {
			out[string(kv.Key)] = string(kv.Value)
		}
		return out
	}
	return g
}

// postgresBehindTLS is a Postgres that asks for a password.
func postgresBehindTLS(t *testing.T) guarded {
	t.Helper()
	need(t, "postgres")
	def, err := compose.Load(t.Context(), "postgres")
	if err != nil {
		t.Fatal(err)
	}
	local := def.Servers()[0].Spec.Local
	g := guarded{addr: freeAddr(t), username: "locks", lock: "postgres-table", found: "stale-write"}
	ca, cert, key := testkit.Certificate(t)
	g.ca = ca
	_, port, _ := net.SplitHostPort(g.addr)
	dir, err := os.MkdirTemp("", "picklock-postgres-") // whose parents everybody may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const nobody = 65534
	word := filepath.Join(dir, "password")
	for path, from := range map[string]string{"server.crt": cert, "server.key": key} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, path), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(word, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	path := append(os.Environ(), "PATH="+strings.Join(append(local.Folders(), os.Getenv("PATH")), ":"))
	as := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 { // which Postgres refuses
		as.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		for _, name := range []string{"", "password", "server.crt", "server.key"} {
			if err := os.Chown(filepath.Join(dir, name), nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	initdb, _ := local.Find("initdb")
	postgres, _ := local.Find("postgres")
	prepare := exec.Command(initdb, "-D", dir+"/data", "-U", "locks", "--auth=scram-sha-256", "--pwfile="+word, "--no-sync", "--no-instructions", "--encoding=UTF8", "--locale=C")
	prepare.Env, prepare.SysProcAttr, prepare.Dir = path, as, dir
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	if err := os.WriteFile(dir+"/data/pg_hba.conf", []byte("hostssl all all all scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(postgres, "-D", dir+"/data", "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "ssl=on", "-c", "ssl_cert_file="+dir+"/server.crt", "-c", "ssl_key_file="+dir+"/server.key")
	server.Env, server.SysProcAttr, server.Dir = path, as, dir
	startOutside(t, g.addr, server)
	t.Setenv("PICKLOCK_DATABASE", "postgres")
	config, err := pgconn.ParseConfig("host=127.0.0.1 port=" + port + " user=locks database=postgres sslmode=verify-full sslrootcert=" + ca)
	if err != nil {
		t.Fatal(err)
	}
	config.Password = secret
	ask := func(sql string) [][][]byte {
		t.Helper()
		var conn *pgconn.PgConn
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) { // it takes connections before it serves
			if conn, err = pgconn.ConnectConfig(t.Context(), config); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		defer conn.Close(context.Background())
		r, err := conn.Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return r[0].Rows
	}
	ask("CREATE TABLE others (key text); INSERT INTO others VALUES ('not yours'), ('picklock-k0')")
	g.dump = func() map[string]string {
		out := map[string]string{}
		for _, row := range ask("SELECT c.oid || ' ' || relname, '' FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'public' UNION ALL SELECT 'row ' || key, 'x' FROM others") {
			out[string(row[0])] = string(row[1])
		}
		return out
	}
	return g
}

// zookeeperBehindTLS is a ZooKeeper that takes no client without a certificate. It shows how many
// nodes it has; what they are, the tests of its locks look at.
func zookeeperBehindTLS(t *testing.T) guarded {
	t.Helper()
	g := guarded{addr: freeAddr(t), lock: "zookeeper", found: "stale-write"}
	ca, cert, key := testkit.Certificate(t)
	g.ca = ca
	comeWith := func(cert, key string) {
		t.Setenv("PICKLOCK_PASSWORD", "") // the locks do not log in
		t.Setenv("PICKLOCK_TLS_CERT", cert)
		t.Setenv("PICKLOCK_TLS_KEY", key)
	}
	g.admit, g.deny = func() { comeWith(cert, key) }, func() { comeWith("", "") }
	plain := freeAddr(t)
	_, secure, _ := net.SplitHostPort(g.addr)
	_, port, _ := net.SplitHostPort(plain)
	startOutside(t, g.addr, testkit.GuardedZooKeeper(t, secure, port, ca, cert, key))
	count := func() string {
		conn, err := net.Dial("tcp", plain)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("mntr")); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if n, ok := strings.CutPrefix(line, "zk_znode_count"); ok {
				return strings.TrimSpace(n)
			}
		}
		return ""
	}
	for deadline := time.Now().Add(time.Minute); count() == ""; time.Sleep(50 * time.Millisecond) { // its ports are open before it serves
		if time.Now().After(deadline) {
			t.Fatal("ZooKeeper took connections and never served")
		}
	}
	g.dump = func() map[string]string { return map[string]string{"nodes": count()} }
	return g
}
