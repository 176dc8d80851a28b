package scenarios

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/picklock/picklock/clients"
)

// A scenario's cluster that is a Compose file is named relative to the scenario's own file,
// so that both can be moved together and run from any folder.

// isClusterFile tells a relative path of a Compose file from the name of a cluster, with the version of its
// servers or without, an endpoint and an absolute path.
func isClusterFile(cluster string) bool {
	return strings.ContainsAny(cluster, "./") && !strings.HasPrefix(cluster, "endpoint:") && !filepath.IsAbs(cluster) && !versioned.MatchString(cluster)
}

// versioned is the name of a cluster with a version.
var versioned = regexp.MustCompile(`^[a-z][a-z0-9-]*@\d[^/]*$`)

// resolve names the cluster, and the folder of programs, of a scenario that is in folder as this
// process finds them.
func (s *Scenario) resolve(folder string) error {
	if isClusterFile(s.Cluster) {
		s.Cluster = filepath.Join(folder, s.Cluster)
		if !strings.ContainsAny(s.Cluster, "./") {
			s.Cluster = "./" + s.Cluster
		}
	}
	if s.Folder == "" {
		return nil
	}
	if !filepath.IsAbs(s.Folder) {
		s.Folder = filepath.Join(folder, s.Folder)
	}
	var err error
	if s.Folder, err = filepath.Abs(s.Folder); err != nil {
		return fmt.Errorf("find the folder of the scenario %s: %w", s.Name, err)
	}
	return nil
}

// FolderOf is where the program of a lock is started: a command line of the scenario's own means
// the files that it means there. "" is the working directory, as of a lock that the user named.
func (s *Scenario) FolderOf(lock string) string {
	if strings.HasPrefix(lock, clients.ExecPrefix) && slices.Contains(s.Locks, lock) {
		return s.Folder
	}
	return ""
}

// WrittenTo is the text of a scenario that Write has made, for a file in folder: a Compose
// file that is named relative to the working directory is named relative to folder, and so is
// the working directory where the scenario has a user's program, whose command may
// name files there.
func WrittenTo(folder string, text []byte) ([]byte, error) {
	s, err := Parse("schedule.yaml", text)
	if err != nil {
		return nil, err
	}
	if isClusterFile(s.Cluster) {
		path, err := relative(folder, s.Cluster)
		if err != nil {
			return nil, fmt.Errorf("name the cluster relative to %s: %w", folder, err)
		}
		text = bytes.Replace(text, []byte("\ncluster: "+quoted(s.Cluster)+"\n"), []byte("\ncluster: "+quoted(path)+"\n"), 1)
	}
	if !slices.ContainsFunc(s.Locks, func(lock string) bool { return strings.HasPrefix(lock, clients.ExecPrefix) }) {
		return text, nil
	}
	path, err := relative(folder, cmp.Or(s.Folder, "."))
	if err != nil {
		return nil, fmt.Errorf("name the programs' folder relative to %s: %w", folder, err)
	}
	line := []byte("\nfolder: " + quoted(path) + "\n")
	if s.Folder != "" {
		return bytes.Replace(text, []byte("\nfolder: "+quoted(s.Folder)+"\n"), line, 1), nil
	}
	return bytes.Replace(text, []byte("\nlocks: "), append(line, "locks: "...), 1), nil
}

// relative names a path of this process relative to a folder.
func relative(folder, path string) (string, error) {
	from, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	out, err := filepath.Rel(from, to)
	if err != nil {
		out = to
	}
	if !strings.ContainsAny(out, "./") {
		out = "./" + out
	}
	return out, nil
}
