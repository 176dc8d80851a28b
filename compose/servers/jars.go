package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// jars is a server in Java from Maven's repositories, with what it depends on. A class of picklock's own starts one that has none
// that does for a cluster.
type jars struct {
	artifact string   // group:name
	class    string   // of a command that starts it, after -cp and the class path
	without  []string // of its dependencies, as group:name
	besides  []string // as group:name:version
	main     string   // the text of that class, if it is picklock's own; "" for one of the artifact's
}

func (j jars) what() string { return j.artifact }

func (j jars) key() string {
	key := strings.Join(slices.Concat([]string{j.class}, j.without, []string{""}, j.besides), "\n")
	if j.main != "" {
		key += "\n" + j.main
	}
	return key
}

func (j jars) tool() (program, hint string) {
	return "mvn", "install Maven (Debian: apt-get install maven)"
}

func (j jars) starts(_ string, command []string) bool {
	i := slices.Index(command, j.class)
	return i > 1 && command[i-2] == "-cp"
}

func (j jars) instead(_, folder string, command []string) []string {
	out := slices.Clone(command)
	path := filepath.Join(folder, "jars", "*")
	if j.main != "" {
		path += ":" + filepath.Join(folder, "classes")
	}
	out[slices.Index(out, j.class)-1] = path
	return out
}

func (j jars) get(_ context.Context, server, version, folder string, run func(tool string, args ...string) error) error {
	var pom strings.Builder
	pom.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` + "\n")
	fmt.Fprintf(&pom, "<groupId>picklock.local</groupId><artifactId>%s</artifactId><version>1</version>\n<dependencies>\n", server)
	group, name, _ := strings.Cut(j.artifact, ":")
	fmt.Fprintf(&pom, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version><exclusions>\n", group, name, version)
	for _, w := range j.without {
		group, name, _ := strings.Cut(w, ":")
		fmt.Fprintf(&pom, "<exclusion><groupId>%s</groupId><artifactId>%s</artifactId></exclusion>\n", group, name)
	}
	pom.WriteString("</exclusions></dependency>\n")
	for _, b := range j.besides {
		of := strings.SplitN(b, ":", 3)
		fmt.Fprintf(&pom, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n", of[0], of[1], of[2])
	}
	pom.WriteString("</dependencies></project>\n")
	if err := os.WriteFile(filepath.Join(folder, "pom.xml"), []byte(pom.String()), 0o644); err != nil {
		return err
	}
	if err := run("mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=jars"); err != nil || j.main == "" {
		return err
	}
	source := j.class + ".java"
	if err := os.WriteFile(filepath.Join(folder, source), []byte(j.main), 0o644); err != nil {
		return err
	}
	if err := run("javac", "-nowarn", "-d", "classes", "-cp", filepath.Join("jars", "*"), source); err != nil {
		return fmt.Errorf("compile %s, which takes a JDK (Debian: apt-get install default-jdk-headless): %w", source, err)
	}
	return nil
}
