package scenarios

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// A scenario's cluster that is a Compose file is named relative to the scenario's own file,
// so that both can be moved together and played from any folder.

// isClusterFile tells a relative path of a Compose file from the name of a cluster, an
// endpoint and an absolute path.
func isClusterFile(cluster string) bool {
	return strings.ContainsAny(cluster, "./") && !strings.HasPrefix(cluster, "endpoint:") && !filepath.IsAbs(cluster)
}

// resolveCluster names the cluster of a scenario that is in folder as this process finds it.
func (s *Scenario) resolveCluster(folder string) {
	if isClusterFile(s.Cluster) {
		s.Cluster = filepath.Join(folder, s.Cluster)
		if !strings.ContainsAny(s.Cluster, "./") {
			s.Cluster = "./" + s.Cluster
		}
	}
}

// WrittenTo is the text of a scenario that Write has made, for a file in folder: a Compose
// file that is named relative to the working directory is named relative to folder.
func WrittenTo(folder string, text []byte) ([]byte, error) {
	if !bytes.Contains(text, []byte("\ncluster: ")) {
		return text, nil
	}
	s, err := Parse("schedule.yaml", text)
	if err != nil || !isClusterFile(s.Cluster) {
		return text, err
	}
	from, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("name the cluster relative to %s: %w", folder, err)
	}
	to, err := filepath.Abs(s.Cluster)
	if err != nil {
		return nil, fmt.Errorf("name the cluster relative to %s: %w", folder, err)
	}
	path, err := filepath.Rel(from, to)
	if err != nil {
		path = to
	}
	line := "\ncluster: " + quoted(s.Cluster) + "\n"
	if !strings.ContainsAny(path, "./") {
		path = "./" + path
	}
	return bytes.Replace(text, []byte(line), []byte("\ncluster: "+quoted(path)+"\n"), 1), nil
}
