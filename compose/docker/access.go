package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// access is how the engine is reached: DOCKER_HOST, or else what the docker
// command's current context says, which Docker Desktop uses.
type access struct {
	host         string // "" for the default socket
	ca, crt, key string // files; "" without TLS, or where DOCKER_CERT_PATH has them
}

func findAccess() (access, error) {
	a := access{host: os.Getenv("DOCKER_HOST")}
	if a.host == "" {
		var err error
		if a, err = contextAccess(); err != nil {
			return a, err
		}
	}
	if strings.HasPrefix(a.host, "ssh://") {
		return a, fmt.Errorf("engines behind ssh are not reached directly: forward the socket (ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock %s) and set DOCKER_HOST=unix:///tmp/docker.sock", strings.TrimPrefix(a.host, "ssh://"))
	}
	if a.host == "" {
		a.host = defaultHost
	}
	return a, nil
}

// contextAccess reads the docker command's context; without one it is the default.
func contextAccess() (access, error) {
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return access{}, nil //nolint:nilerr // without a home there is no context
		}
		dir = filepath.Join(home, ".docker")
	}
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		var config struct{ CurrentContext string }
		if err := readJSON(filepath.Join(dir, "config.json"), &config); errors.Is(err, fs.ErrNotExist) {
			return access{}, nil
		} else if err != nil {
			return access{}, fmt.Errorf("read docker's configuration: %w", err)
		}
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return access{}, nil
	}
	digest := contextDigest(name)
	var meta struct {
		Endpoints struct{ Docker struct{ Host string } } `json:"Endpoints"`
	}
	if err := readJSON(filepath.Join(dir, "contexts", "meta", digest, "meta.json"), &meta); err != nil {
		return access{}, fmt.Errorf("read docker's context %q: %w", name, err)
	}
	a := access{host: meta.Endpoints.Docker.Host}
	tls := filepath.Join(dir, "contexts", "tls", digest, "docker")
	if _, err := os.Stat(filepath.Join(tls, "cert.pem")); err == nil {
		a.ca, a.crt, a.key = filepath.Join(tls, "ca.pem"), filepath.Join(tls, "cert.pem"), filepath.Join(tls, "key.pem")
	}
	return a, nil
}

// contextDigest is what docker calls a context's directories.
func contextDigest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// environ makes the compose command use the same engine.
func (a access) environ() []string {
	if os.Getenv("DOCKER_HOST") != "" || a.crt != "" {
		return nil // it reads the same settings
	}
	return []string{"DOCKER_HOST=" + a.host}
}
