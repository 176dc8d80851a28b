package compose

import (
	"context"
	"strings"
	"testing"
)

// FuzzLoad: whatever a user's Compose file holds, it is refused by its name, or it
// has servers with ports that clients can dial, or a directory for them.
func FuzzLoad(f *testing.F) {
	for _, name := range Names() {
		text, err := files.ReadFile(name + ".yml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"", "services:\n", "services: {a: {image: b}}\n", "services: {a: {image: b, labels: {picklock.role: server, picklock.port: \"1,2\"}}}\n",
		"services: {a: {image: b, x-picklock: {role: server, ports: [70000]}}}\n", "services: {a: {image: b, x-picklock: 3}}\n", "x-picklock: {directory: [d]}\n",
		"services: {a: {image: '${X:?no}', extends: a}}\n", "a: &a [*a]\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), "include") || strings.Contains(string(text), "extends") || strings.Contains(string(text), "file") {
			t.Skip("speaks of other files") // which may be pipes and devices of this machine
		}
		d := &Definition{Name: "x", File: "x.yml", Source: text}
		if err := d.parse(context.Background()); err != nil {
			if !strings.HasPrefix(err.Error(), "load x.yml: ") {
				t.Fatalf("no file: %v", err)
			}
			return
		}
		if len(d.Servers()) == 0 && d.Directory == "" {
			t.Fatalf("nothing to dial: %+v", d)
		}
		for _, s := range d.Servers() {
			if s.Name == "" || len(s.Spec.Ports) == 0 {
				t.Fatalf("no port: %+v", s)
			}
			for _, p := range s.Spec.Ports {
				if p < 1 || p > 65535 {
					t.Fatalf("port %d of %s", p, s.Name)
				}
			}
		}
	})
}
