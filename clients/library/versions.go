package library

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/built"
)

// Where Maven and cargo read versions from. npm, pip and go are asked themselves.
const (
	mavenCentral = "https://repo.maven.apache.org/maven2"
	cratesIndex  = "https://index.crates.io"
)

// publishedMaven reads the metadata of an artifact.
func publishedMaven(ctx context.Context, registry, library string) ([]string, error) {
	group, artifact, _ := strings.Cut(library, ":")
	text, err := get(ctx, registry+"/"+strings.ReplaceAll(group, ".", "/")+"/"+artifact+"/maven-metadata.xml")
	if err != nil {
		return nil, err
	}
	var metadata struct {
		Versions []string `xml:"versioning>versions>version"`
	}
	if err := xml.Unmarshal(text, &metadata); err != nil {
		return nil, fmt.Errorf("read Maven's metadata: %w", err)
	}
	return metadata.Versions, nil
}

// publishedCrate reads the index of a crate: a line a version.
func publishedCrate(ctx context.Context, registry, library string) ([]string, error) {
	name := strings.ToLower(library)
	folder := map[int]string{1: "1/", 2: "2/", 3: "3/" + name[:1] + "/"}[len(name)]
	if folder == "" {
		folder = name[:2] + "/" + name[2:4] + "/"
	}
	text, err := get(ctx, registry+"/"+folder+name)
	if err != nil {
		return nil, err
	}
	var out []string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var version struct {
			Vers   string
			Yanked bool
		}
		if err := json.Unmarshal(lines.Bytes(), &version); err != nil {
			return nil, fmt.Errorf("read the index of crates: %w", err)
		}
		if !version.Yanked {
			out = append(out, version.Vers)
		}
	}
	return out, nil
}

// publishedNode asks npm, which knows the user's registry.
func publishedNode(ctx context.Context, _, library string) ([]string, error) {
	text, err := asked(ctx, "npm", "view", library, "versions", "--json")
	if err != nil {
		return nil, err
	}
	var out []string
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("read the answer of npm view: %w", err)
	}
	return out, nil
}

// publishedPython asks pip, which knows the user's index.
func publishedPython(ctx context.Context, _, library string) ([]string, error) {
	text, err := asked(ctx, "python3", "-m", "pip", "index", "versions", "--pre", "--disable-pip-version-check", library)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(strings.TrimSpace(line), "Available versions: "); ok {
			return strings.Split(list, ", "), nil
		}
	}
	return nil, errors.New("pip index versions names no versions")
}

// publishedGo asks go, which knows the user's proxy.
func publishedGo(ctx context.Context, _, library string) ([]string, error) {
	text, err := asked(ctx, "go", "list", "-m", "-versions", library)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(string(text))
	for i, w := range words {
		words[i] = strings.TrimPrefix(w, "v")
	}
	return words[min(1, len(words)):], nil
}

// asked is what a tool writes on standard output.
func asked(ctx context.Context, tool string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.WaitDelay = time.Second
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", tool, strings.Join(args, " "), err, built.LastLines(failed.String()))
	}
	return out.Bytes(), nil
}

// get reads a page of a registry.
func get(ctx context.Context, url string) ([]byte, error) {
	const most = 16 << 20
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, most))
}

// published are the versions of the library that its registry has.
func (p program) published(ctx context.Context) ([]string, error) {
	if err := p.missing(); err != nil {
		return nil, err
	}
	out, err := p.language.published(ctx, p.language.registry, p.library)
	if err == nil && len(out) == 0 {
		err = errors.New("it names none")
	}
	if err != nil {
		return nil, fmt.Errorf("ask the registry of %s for the versions of %s: %w", p.language.name, p.library, err)
	}
	return out, nil
}
