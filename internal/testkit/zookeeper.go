package testkit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// GuardedZooKeeper is the command of a ZooKeeper that speaks TLS only on its secure port and
// takes only clients there with a certificate that ca has signed; on the other port it counts
// its nodes ("mntr"). It needs what Debian's libzookeeper-java brings.
func GuardedZooKeeper(t testing.TB, securePort, port, ca, cert, key string) *exec.Cmd {
	t.Helper()
	NeedProgram(t, "java", "apt-get install default-jre-headless")
	var jars []string
	for _, name := range []string{"zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "metrics-core", "netty-all", "netty-codec", "netty-handler", "netty-common", "netty-buffer", "netty-transport", "netty-resolver", "commons-io", "snappy-java"} {
		jars = append(jars, "/usr/share/java/"+name+".jar")
		_, err := os.Stat(jars[len(jars)-1])
		Need(t, "zookeeper", err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keyText, err1 := os.ReadFile(key)
	certText, err2 := os.ReadFile(cert)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	store := write("key-and-cert.pem", string(keyText)+string(certText))
	config := write("zoo.cfg", strings.Join([]string{
		"dataDir=" + dir, "tickTime=200", "maxSessionTimeout=60000", "admin.enableServer=false", "4lw.commands.whitelist=mntr",
		"clientPort=" + port, "clientPortAddress=127.0.0.1", "secureClientPort=" + securePort, "secureClientPortAddress=127.0.0.1",
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.clientAuth=need", "ssl.keyStore.location=" + store, "ssl.keyStore.type=PEM",
		"ssl.trustStore.location=" + ca, "ssl.trustStore.type=PEM", "",
	}, "\n"))
	return exec.Command("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dzookeeper.preAllocSize=1024",
		"-cp", strings.Join(jars, ":"), "org.apache.zookeeper.server.ZooKeeperServerMain", config)
}
