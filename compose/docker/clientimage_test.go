package docker

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A lock in a language of the user's comes with an image of the user's.
func TestClientImage(t *testing.T) {
	e := needEngine(t)
	ctx := t.Context()
	dir := t.TempDir()
	// writeContext takes one program, whatever it is called where it comes from.
	lock := filepath.Join(dir, "lock")
	build := exec.CommandContext(ctx, "go", "build", "-o", lock, "./testdata/execlock")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+e.about.Arch)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(lock)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var files bytes.Buffer
	base := os.Getenv("PICKLOCK_REDIS_IMAGE") // any with a shell
	if base == "" {
		base = "redis:8"
	}
	if err := writeContext(&files, f, base); err != nil {
		t.Fatal(err)
	}
	const image = "picklock-test/execlock:1"
	content := bytes.ReplaceAll(files.Bytes(), []byte("COPY picklock /picklock"), []byte("COPY picklock /mylock  "))
	if err := e.engine.build(ctx, bytes.NewReader(content), image, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		images, err := e.engine.images(ctx, labelAny+"=1")
		if err != nil {
			t.Error(err)
		}
		for _, i := range images {
			if strings.HasPrefix(i.Name, clientRepo+":") {
				_ = e.engine.removeImage(ctx, i.Name) // a person may be using one
			}
		}
		if err := e.engine.removeImage(ctx, image); err != nil {
			t.Error(err)
		}
	})
	code, stdout, stderr := command(t, nil, "run", "--lock", "exec:/mylock", "--cluster", "redis", "--runtime", "docker", "--client-image", image,
		"--faults", "pause:holder", "--duration", "6s", "--json", "--out", filepath.Join(dir, "run"))
	if code != 1 || !strings.Contains(stdout, `"stale-write"`) {
		t.Fatalf("exit %d: %s\n%s", code, stderr, stdout)
	}
	run, err := os.ReadFile(filepath.Join(dir, "run", "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(run), `"--client-image"`) {
		t.Errorf("the command to run it again names no image: %s", run)
	}
}
