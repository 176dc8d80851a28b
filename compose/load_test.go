package compose

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEmbeddedDefinitions(t *testing.T) {
	want := map[string][]string{
		"redis":          {"redis"},
		"valkey":         {"valkey"},
		"redis-sentinel": {"redis1", "redis2", "redis3", "sentinel1", "sentinel2", "sentinel3"},
		"redlock":        {"redis1", "redis2", "redis3", "redis4", "redis5"},
		"etcd":           {"etcd1", "etcd2", "etcd3"},
		"zookeeper":      {"zk1", "zk2", "zk3"},
		"consul":         {"consul1", "consul2", "consul3"},
		// The one that clients dial comes first.
		"kubernetes": {"apiserver", "etcd"},
	}
	for name, servers := range want {
		d, err := Load(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range d.Servers() {
			got = append(got, s.Name)
			if s.Image == "" || s.Spec.Ready == nil || s.Spec.Local == nil || len(s.Spec.Local.Command) == 0 {
				t.Errorf("%s: service %s lacks an image, a ready probe or a local command: %+v", name, s.Name, s)
			}
		}
		if strings.Join(got, " ") != strings.Join(servers, " ") {
			t.Errorf("%s: servers %v, want %v", name, got, servers)
		}
	}
}

func TestImageOverride(t *testing.T) {
	t.Setenv("PICKLOCK_REDIS_IMAGE", "mine:1")
	d, err := Load(context.Background(), "redis")
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Services[0].Image; got != "mine:1" {
		t.Errorf("image %q, want mine:1", got)
	}
}

func TestBadDefinitions(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no server", "services: {a: {image: x}}", "no service with the role server"},
		{"no ports", "services: {a: {image: x, x-picklock: {role: server}}}", "needs ports"},
		{"role", "services: {a: {image: x, x-picklock: {role: king}}}", `unknown role "king"`},
		{"expect", "services: {a: {image: x, x-picklock: {role: server, ports: [1], ready: {expect: '('}}}}", "expect"},
		{"misspelt", "services: {a: {image: x, x-picklock: {role: server, ports: [1], redy: {expect: x}}}}", `service a: x-picklock: unknown key "redy": did you mean ready?`},
		{"a port as a text", "services: {a: {image: x, x-picklock: {role: server, ports: ['6379']}}}", `want numbers as in ports: [6379]`},
		{"a command as a text", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {command: 'redis-server --port 1'}}}}", `want numbers as in ports: [6379], and commands as lists`},
		{"a user below 0", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {command: [x], user: -5}}}}", `local: user -5: want a user id above 0`},
		{"an empty prepare", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {command: [x], prepare: ['']}}}}", `local: prepare: the name of the program is empty`},
		{"an empty command", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {command: ['', x]}}}}", `local: command: the name of the program is empty`},
		{"a need of nothing", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {command: [x], needs: [{package: p}]}}}}", `local: needs, number 1: want either a program or a file`},
		{"a need of a program and a file", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {command: [x], needs: [{program: p, file: f, package: p}]}}}}", `local: needs, number 1: want either a program or a file`},
		{"a need without remedy", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {command: [x], needs: [{program: p, package: q}, {program: r}]}}}}", `local: needs, number 2: want the package that has it, or a hint`},
		{"a bad pattern", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {command: [x], path: ['a[']}}}}", `local: path "a["`},
		{"misspelt below", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {comand: [x]}}}}", `x-picklock.local: unknown key "comand": did you mean command?`},
		{"misspelt in a list", "services: {a: {image: x, x-picklock: {role: server, ports: [1], local: {needs: [{progam: x}]}}}}", `x-picklock.local.needs: unknown key "progam": did you mean program?`},
		{"misspelt in what is shared", "x-picklock: &shared {role: server, ports: [1], redy: {expect: x}}\nservices: {a: {image: x, x-picklock: *shared}}\n", `unknown key "redy"`},
		{"misspelt whole", "services: {}\nx-picklock: {directry: d}\n", `x-picklock: unknown key "directry": did you mean directory?`},
		{"takeover", "services: {a: {image: x, x-picklock: {role: server, ports: [1], takeover: soon}}}", "takeover"},
		{"yaml", "services: [", "load"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := filepath.Join(t.TempDir(), "c.yml")
			if err := os.WriteFile(f, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(context.Background(), f)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := Load(context.Background(), "nope"); err == nil || !strings.Contains(err.Error(), "redlock") {
		t.Errorf("unknown name: %v", err)
	}
}
