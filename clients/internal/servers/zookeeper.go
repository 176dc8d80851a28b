package servers

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients/contract"
)

// zkClassPath is what ZooKeeper 3.8 needs to serve, as Debian's libzookeeper-java
// and its dependencies install it.
var zkClassPath = "zookeeper zookeeper-jute slf4j-api metrics-core"

// ZooKeeper starts one server with a tick of 200 ms.
func ZooKeeper(t testing.TB) []*contract.Server {
	java := Need(t, "java", "default-jre-headless")
	var jars []string
	for _, name := range strings.Fields(zkClassPath) {
		jar := "/usr/share/java/" + name + ".jar"
		if _, err := os.Stat(jar); err != nil {
			t.Skipf("no %s: apt install libzookeeper-java", jar)
		}
		jars = append(jars, jar)
	}
	port := FreePort(t)
	s := Start(t, port, exec.Command(java, "-Xmx128m", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.admin.enableServer=false", "-cp", strings.Join(jars, ":"),
		"org.apache.zookeeper.server.ZooKeeperServerMain", port, t.TempDir(), "200"))
	for range 100 { // its port is open before it serves
		if zkServes(s.Addr) {
			return []*contract.Server{s}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("ZooKeeper took connections and never served")
	return nil
}

// zkServes asks a server for its state by one of its four-letter words.
func zkServes(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprint(conn, "srvr")
	reply, err := io.ReadAll(conn)
	return err == nil && bytes.Contains(reply, []byte("Mode:"))
}
