package compose

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestExternal(t *testing.T) {
	for name, tt := range map[string]struct {
		cluster, file string // file: the cluster is a file that says this
		own           bool
		servers       []string
		err           string
	}{
		"one":               {cluster: "endpoint:127.0.0.1:6379", servers: []string{"127.0.0.1:6379"}},
		"several":           {cluster: "endpoint:127.0.0.1:2379,[::1]:2380,localhost:1", servers: []string{"127.0.0.1:2379", "[::1]:2380", "localhost:1"}},
		"a file":            {file: "servers: [127.0.0.1:6379, 127.0.0.2:6379]\n", servers: []string{"127.0.0.1:6379", "127.0.0.2:6379"}},
		"with blanks":       {cluster: "endpoint:127.0.0.1:2379, LOCALHOST:2380", servers: []string{"127.0.0.1:2379", "LOCALHOST:2380"}},
		"twice":             {cluster: "endpoint:127.0.0.1:2379, 127.0.0.1:2379", err: "named twice"},
		"elsewhere":         {cluster: "endpoint:10.0.0.1:6379", err: "--i-own-this-service"},
		"a name":            {cluster: "endpoint:redis.example:6379", err: "--i-own-this-service"},
		"one elsewhere":     {cluster: "endpoint:127.0.0.1:1,10.0.0.1:6379", err: "10.0.0.1:6379 is not on"},
		"elsewhere, owned":  {cluster: "endpoint:10.0.0.1:6379", own: true, servers: []string{"10.0.0.1:6379"}},
		"owned in the file": {file: "servers: [redis.example:6379]\ni_own_this_service: true\n", servers: []string{"redis.example:6379"}},
		"not owned":         {file: "servers: [redis.example:6379]\n", err: "--i-own-this-service"},
		"by its service":    {file: "services: {a: {image: x, x-picklock: {role: server, external: 'redis.example:6379'}}}\n", err: "--i-own-this-service"},
		"both":              {file: "servers: ['127.0.0.1:1']\nservices: {a: {image: x}}\n", err: "both services"},
		"a misspelt key":    {file: "servers: ['127.0.0.1:1']\ni_own_it: true\n", err: "i_own_it"},
		"a password":        {cluster: "endpoint:u:secret@127.0.0.1:6379", err: "HOST:PORT alone"},
		"a scheme":          {cluster: "endpoint:redis://127.0.0.1", err: "HOST:PORT alone"},
		"no port":           {cluster: "endpoint:127.0.0.1", err: "want HOST:PORT"},
		"no host":           {cluster: "endpoint::6379", err: "no host"},
		"nothing":           {cluster: "endpoint:", err: "want HOST:PORT"},
		"a port too large":  {cluster: "endpoint:127.0.0.1:70000", err: "not a port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(OwnVariable, map[bool]string{true: "yes"}[tt.own])
			if tt.file != "" {
				tt.cluster = filepath.Join(t.TempDir(), "mine.yml")
				if err := os.WriteFile(tt.cluster, []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := Load(t.Context(), tt.cluster)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret") && name != "a password" {
					t.Fatalf("%v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := d.External(); !slices.Equal(got, tt.servers) {
				t.Errorf("servers %v, want %v", got, tt.servers)
			}
			for i, s := range d.Servers() {
				if _, port, _ := splitExternal(tt.servers[i]); len(s.Spec.Ports) != 1 || s.Spec.Ports[0] != port {
					t.Errorf("%s: ports %v, want %d", s.Name, s.Spec.Ports, port)
				}
				if want := []string{"{self}", "forward", "--listen", "{addr}:{port}", "--to", tt.servers[i]}; s.Spec.Local == nil || !slices.Equal(s.Spec.Local.Command, want) {
					t.Errorf("%s is started as %+v", s.Name, s.Spec.Local)
				}
			}
		})
	}
}

func TestExternalWithARegister(t *testing.T) {
	d, err := Load(t.Context(), "endpoint:127.0.0.1:6379")
	if err != nil {
		t.Fatal(err)
	}
	if d, err = d.With(t.Context(), "redis", "register", Register); err != nil {
		t.Fatal(err)
	}
	if got := d.External(); len(got) != 1 || len(d.Members()) != 2 {
		t.Errorf("%v run already of %d", got, len(d.Members()))
	}
}

func TestFlags(t *testing.T) {
	for cluster, want := range map[string]string{
		"":                                   "",
		"redis":                              "--cluster redis",
		"my/file.yml":                        "--cluster my/file.yml",
		"endpoint:127.0.0.1:6379":            "--endpoint 127.0.0.1:6379",
		"endpoint:127.0.0.1:1,10.0.0.1:6379": "--endpoint 127.0.0.1:1,10.0.0.1:6379 --i-own-this-service",
	} {
		if got := strings.Join(Flags(cluster), " "); got != want {
			t.Errorf("%s: %s, want %s", cluster, got, want)
		}
	}
}
