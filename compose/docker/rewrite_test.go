package docker

import (
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
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
    deploy: {replicas: 3, restart_policy: {condition: any}, resources: {limits: {cpus: "0.5"}}}
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
	out, err := rewrite(def, p, true)
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
	for _, want := range []any{"other:10.1.2.3", "db:172.20.0.2"} {
		if hosts := db["extra_hosts"].([]any); !slices.Contains(hosts, want) {
			t.Errorf("hosts %v", hosts)
		}
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
		t.Errorf("a volume of the user's would be labelled as the run's: %v", v)
	}
}

// manyFiles is a cluster whose Compose file includes, extends and overrides others, with
// values from the environment and from files. It returns the first file.
func manyFiles(t *testing.T, image string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"their.yml": `
name: theirs
include:
  - path: [more/included.yml, more/override.yml]
services:
  db:
    image: ` + image + `
    extends: {file: base.yml, service: base}
    command: [redis-server, --requirepass, "${SECRET_WORD}"]
    environment: {GIVEN: "${SECRET_WORD:-none}!", PASSED: , DOLLAR: "a$$b"}
    env_file: [their.env]
    depends_on: [helper]
    devices: [/dev/null:/dev/mine]
    volumes: [data:/data, ./here:/here:ro, /anonymous]
    x-picklock: {role: server, ports: [6379]}
  tools:
    image: none
    profiles: [debug]
volumes: {data: {}}
`,
		"base.yml":  "services: {base: {ports: [\"6379:6379\"], restart: always, container_name: fixed, labels: {from: base}}}\n",
		"their.env": "FROM_FILE=file-secret\n",
		".env":      "FROM_DOTENV=dotenv-value\n",
		"more/included.yml": `
services:
  helper:
    image: ` + image + `
    restart: always
    ports: ["7000:7000"]
    environment: {INNER: "${INNER}"}
    volumes: [innerdata:/data, ./there:/there]
volumes: {innerdata: {name: fixed_name}}
`,
		"more/override.yml": "services: {helper: {labels: {over: ridden}}}\n",
		"more/.env":         "INNER=inner-value\n",
		"here/file":         "",
		"more/there/file":   "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	t.Setenv("SECRET_WORD", "open$sesame")
	t.Setenv("PASSED", "passed-secret")
	return filepath.Join(dir, "their.yml")
}

// All that a file brings from others is in the one that Compose is given, labelled.
func TestRewriteOfManyFiles(t *testing.T) {
	file := manyFiles(t, "redis")
	def := load(t, file)
	p, _ := newPlan(def, "picklock-1", netip.MustParsePrefix("172.20.0.0/16"), map[string]string{labelAny: "1", labelRun: "1"})
	read := func(secrets bool) (string, map[string]any) {
		t.Helper()
		text, err := rewrite(def, p, secrets)
		if err != nil {
			t.Fatal(err)
		}
		var f map[string]any
		if err := yaml.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		return string(text), f
	}
	text, f := read(true)
	services := mapping(f["services"])
	if len(services) != 2 || f["include"] != nil {
		t.Fatalf("services %v, want db and helper:\n%s", slices.Sorted(maps.Keys(services)), text)
	}
	for name, more := range map[string][2]string{"db": {"from", "base"}, "helper": {"over", "ridden"}} {
		s := mapping(services[name])
		labels := mapping(s["labels"])
		if labels[labelRun] != "1" || labels[labelNode] != name || labels[more[0]] != more[1] {
			t.Errorf("%s: labels %v", name, labels)
		}
		if s["restart"] != "no" || s["ports"] != nil || s["container_name"] != nil || s["extends"] != nil || s["env_file"] != nil {
			t.Errorf("%s: what the base says is left: %v", name, s)
		}
		if mapping(mapping(s["networks"])[ownNetwork])["ipv4_address"] == nil {
			t.Errorf("%s: networks %v", name, s["networks"])
		}
	}
	for _, v := range []string{"data", "innerdata"} {
		if x := mapping(mapping(f["volumes"])[v]); x["name"] != nil || mapping(x["labels"])[labelRun] != "1" {
			t.Errorf("volume %s: %v", v, x)
		}
	}
	env := mapping(mapping(services["db"])["environment"])
	if want := map[string]any{"GIVEN": "open$$sesame!", "PASSED": "passed-secret", "DOLLAR": "a$$b", "FROM_FILE": "file-secret"}; !reflect.DeepEqual(env, want) {
		t.Errorf("environment %v, want %v", env, want)
	}
	if inner := mapping(mapping(services["helper"])["environment"])["INNER"]; inner != "inner-value" {
		t.Errorf("a variable of the included file's own .env: %v", inner)
	}
	dir := filepath.Dir(file)
	if got, want := mapping(services["db"])["volumes"], []any{"data:/data", dir + "/here:/here:ro", "/anonymous"}; !reflect.DeepEqual(got, want) {
		t.Errorf("volumes %v, want %v", got, want)
	}
	if got, want := mapping(services["helper"])["volumes"], []any{"innerdata:/data", dir + "/more/there:/there"}; !reflect.DeepEqual(got, want) {
		t.Errorf("volumes %v, want %v", got, want)
	}
	record, kept := read(false)
	for _, secret := range []string{"sesame", "passed-secret", "file-secret", "inner-value"} {
		if strings.Contains(record, secret) {
			t.Errorf("the record has %q:\n%s", secret, record)
		}
	}
	if got := mapping(mapping(mapping(kept["services"])["db"])["environment"])["GIVEN"]; got != "${SECRET_WORD}!" {
		t.Errorf("the record has %v in a variable's place", got)
	}
	t.Setenv("COMPOSE_PROFILES", "debug")
	if def := load(t, file); len(def.Services) != 3 {
		t.Errorf("with its profile there are %d services, want 3", len(def.Services))
	}
}

// Old and new Compose read it, and nothing of it stays.
func TestManyFilesLeaveNothing(t *testing.T) {
	e := needEngine(t)
	image := os.Getenv("PICKLOCK_REDIS_IMAGE")
	if image == "" {
		image = "redis:8"
	}
	before := leavings(t, e)
	c, _, err := tryStart(t, e, load(t, manyFiles(t, image)))
	if err != nil {
		t.Fatal(err)
	}
	run := c.run
	made := strings.Join(objects(t, e, labelRun+"="+run), ", ")
	for _, want := range []string{"db", "helper", "innerdata"} {
		if !strings.Contains(made, want) {
			t.Errorf("%s is not labelled as the run's: %s", want, made)
		}
	}
	record, err := os.ReadFile(filepath.Join(filepath.Dir(c.opts.LogDir), "compose.yml"))
	if err != nil || strings.Contains(string(record), "sesame") || !strings.Contains(string(record), "helper") {
		t.Errorf("the run's record: %v\n%s", err, record)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	left, err := e.engine.containers(t.Context(), "com.docker.compose.project="+project(run))
	if err != nil || len(left) > 0 {
		t.Errorf("containers are left: %v, %v", left, err)
	}
	if left := objects(t, e, labelRun+"="+run); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if after := since(before, leavings(t, e)); len(after) > 0 {
		t.Errorf("left behind: %v, was %v", after, before)
	}
}

func TestRewriteRefusesSharedNetworks(t *testing.T) {
	def := load(t, "services: {db: {image: x, network_mode: host, labels: {picklock.role: server, picklock.port: '1'}}}")
	p, _ := newPlan(def, "n", netip.MustParsePrefix("10.0.0.0/24"), map[string]string{labelRun: "1"})
	if _, err := rewrite(def, p, true); err == nil || !strings.Contains(err.Error(), "network of its own") {
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
		for _, file := range []string{filepath.Join("..", name+".yml"), rewrittenFile(t, name)} {
			args := append(slices.Clone(c[1:]), "--file", file, "config", "--quiet")
			if out, err := exec.CommandContext(t.Context(), c[0], args...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", file, err, out)
			}
		}
	}
}

func rewrittenFile(t *testing.T, name string) string {
	t.Helper()
	def := load(t, name)
	p, _ := newPlan(def, "n", netip.MustParsePrefix("10.0.0.0/24"), map[string]string{labelRun: "1"})
	text, err := rewrite(def, p, true)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "compose.yml")
	write(t, file, string(text))
	return file
}
