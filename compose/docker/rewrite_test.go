package docker

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/testkit"
)

const theirs = `
name: theirs
x-common: &common {restart: always}
services:
  db:
    <<: *common
    image: redis
    container_name: db
    ports: ["6379:6379"]
    labels: ["picklock.role=server", "picklock.port=6379,16379", "a=b"]
    networks: {back: {aliases: [store]}}
    volumes: ["data:/data"]
    extra_hosts: ["other:10.1.2.3"]
  helper:
    image: helper
    network_mode: host
    deploy: {replicas: 3, restart_policy: {condition: any}, resources: {}}
    x-anything: 1
networks: {back: {}}
volumes:
  data:
  named: {name: shared, labels: {c: d}}
  outside: {external: true}
`

func rewritten(t *testing.T, text string) map[string]any {
	t.Helper()
	def := load(t, text)
	p, next := newPlan(def, "picklock-1", netip.MustParsePrefix("172.20.0.0/16"), map[string]string{labelAny: "1", labelRun: "1"})
	if want := netip.AddrFrom4([4]byte{172, 20, 0, byte(2 + len(def.Services))}); next != want {
		t.Errorf("the next address is %v, want %v", next, want)
	}
	out, err := rewrite(def, p)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "<<") || strings.Contains(string(out), "&common") {
		t.Errorf("anchors are left, which old versions may not read:\n%s", out)
	}
	var f map[string]any
	if err := yaml.Unmarshal(out, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRewrite(t *testing.T) {
	f := rewritten(t, theirs)
	for _, gone := range []string{"name", "x-common"} {
		if f[gone] != nil {
			t.Errorf("%s is left", gone)
		}
	}
	services := f["services"].(map[string]any)
	db := services["db"].(map[string]any)
	for _, gone := range []string{"ports", "container_name"} {
		if db[gone] != nil {
			t.Errorf("%s is left: two runs would fight over it", gone)
		}
	}
	if db["restart"] != "no" {
		t.Errorf("restart: %v: the engine would bring back what the nemesis killed", db["restart"])
	}
	labels := db["labels"].(map[string]any)
	for k, want := range map[string]string{"a": "b", labelAny: "1", labelRun: "1", labelNode: "db", labelRole: "server"} {
		if labels[k] != want {
			t.Errorf("label %s is %v, want %s", k, labels[k], want)
		}
	}
	n := db["networks"].(map[string]any)["picklock"].(map[string]any)
	if n["ipv4_address"] != "172.20.0.2" || len(n["aliases"].([]any)) != 1 {
		t.Errorf("network %v, want an address and the alias store", n)
	}
	if hosts := list(db["extra_hosts"], ":"); !strings.Contains(strings.Join(hosts, " "), "other:10.1.2.3 db:172.20.0.2") {
		t.Errorf("hosts %v", hosts)
	}
	helper := services["helper"].(map[string]any)
	if d := helper["deploy"].(map[string]any); d["replicas"] != nil || d["restart_policy"] != nil || d["resources"] == nil {
		t.Errorf("deploy %v", d)
	}
	if helper["networks"] != nil || helper["network_mode"] != "host" || helper["x-anything"] != nil {
		t.Errorf("helper %v", helper)
	}
	volumes := f["volumes"].(map[string]any)
	for _, name := range []string{"data", "named"} {
		v := volumes[name].(map[string]any)
		if v["name"] != nil || v["labels"].(map[string]any)[labelRun] != "1" {
			t.Errorf("volume %s: %v", name, v)
		}
	}
	if v := volumes["outside"].(map[string]any); v["labels"] != nil {
		t.Errorf("a volume of theirs would be labelled as ours: %v", v)
	}
}

func TestRewriteRefusesSharedNetworks(t *testing.T) {
	def := load(t, "services: {db: {image: x, network_mode: host, labels: {picklock.role: server, picklock.port: '1'}}}")
	p, _ := newPlan(def, "n", netip.MustParsePrefix("10.0.0.0/24"), map[string]string{labelRun: "1"})
	if _, err := rewrite(def, p); err == nil || !strings.Contains(err.Error(), "network of its own") {
		t.Errorf("error %v", err)
	}
}

func TestContext(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "")
	t.Setenv("DOCKER_CONFIG", dir)
	if a, err := findAccess(); err != nil || a.host != defaultHost {
		t.Errorf("without a configuration: %+v, %v", a, err)
	}
	meta := filepath.Join(dir, "contexts", "meta", contextDigest("desktop"))
	if err := os.MkdirAll(meta, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "config.json"), `{"currentContext":"desktop"}`)
	write(t, filepath.Join(meta, "meta.json"), `{"Name":"desktop","Endpoints":{"docker":{"Host":"unix:///tmp/desktop.sock"}}}`)
	if a, err := findAccess(); err != nil || a.host != "unix:///tmp/desktop.sock" {
		t.Errorf("with a context: %+v, %v", a, err)
	}
	t.Setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
	if a, err := findAccess(); err != nil || a.host != "tcp://10.0.0.1:2375" {
		t.Errorf("DOCKER_HOST must win: %+v, %v", a, err)
	}
	t.Setenv("DOCKER_HOST", "ssh://host")
	if _, err := findAccess(); err == nil || !strings.Contains(err.Error(), "ssh -nNT") {
		t.Errorf("ssh: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStatic(t *testing.T) {
	if err := static(strings.NewReader("#!/bin/sh\n"), "amd64"); err == nil || !strings.Contains(err.Error(), "GOOS=linux") {
		t.Errorf("a script: %v", err)
	}
	if engineless != nil {
		testkit.Need(t, "docker", engineless)
	}
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := needEngine(t)
	if err := static(f, e.about.Arch); err != nil {
		t.Error(err)
	}
	if err := static(f, "arm64"); e.about.Arch == "amd64" && err == nil {
		t.Error("a program for another machine was accepted")
	}
	if sh, err := os.Open("/bin/sh"); err == nil {
		defer sh.Close()
		if err := static(sh, e.about.Arch); err == nil {
			t.Error("a dynamic program was accepted")
		}
	}
}

// The files are for people too: docker compose -f takes them by hand.
func TestComposeAcceptsTheFiles(t *testing.T) {
	c, err := findCompose(t.Context())
	testkit.Need(t, "compose", err)
	version, err := exec.CommandContext(t.Context(), c[0], append(slices.Clone(c[1:]), "version", "--short")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range compose.Names() {
		if name == "kubernetes" && strings.HasPrefix(strings.TrimSpace(string(version)), "1.") {
			t.Logf("%s.yml is left out: configs with their content came with Compose 2.23, this is %s", name, version)
			continue
		}
		for _, file := range []string{filepath.Join("..", name+".yml"), ours(t, name)} {
			args := append(slices.Clone(c[1:]), "--file", file, "config", "--quiet")
			if out, err := exec.CommandContext(t.Context(), c[0], args...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", file, err, out)
			}
		}
	}
}

func ours(t *testing.T, name string) string {
	t.Helper()
	def := load(t, name)
	p, _ := newPlan(def, "n", netip.MustParsePrefix("10.0.0.0/24"), map[string]string{labelRun: "1"})
	text, err := rewrite(def, p)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "compose.yml")
	write(t, file, string(text))
	return file
}
