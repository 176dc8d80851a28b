package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// buildJava lets Maven copy the jars that this program needs, and compiles it with them. JVMs start often and live
// short: their options are those that start soonest, and a small heap.
func buildJava(ctx context.Context, b *building) error {
	if _, err := b.run(ctx, b.folder, "mvn", "-q", "-B", "-ntp", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(b.dir, "lib"), "-Dlibrary.version="+b.version, "-Dprogram="+b.program.program); err != nil {
		return err
	}
	// The folder may have other programs, whose jars are missing: the compiler finds what this one refers to.
	if _, err := b.run(ctx, "", "javac", "-nowarn", "-proc:none", "-d", "classes", "-cp", filepath.Join(b.dir, "lib", "*"),
		"-sourcepath", b.folder, "adapter/Adapter.java", path.Join(b.folder, b.program.program+".java")); err != nil {
		return err
	}
	// An archive of classes holds those of jars only, and only for the very class path that it was made with.
	if _, err := b.run(ctx, "", "jar", "cf", "client.jar", "-C", "classes", "."); err != nil {
		return err
	}
	jars, err := filepath.Glob(filepath.Join(b.dir, "lib", "*.jar"))
	if err != nil {
		return err
	}
	all := []string{filepath.Join(b.final, "client.jar")}
	for _, jar := range jars {
		all = append(all, filepath.Join(b.final, "lib", filepath.Base(jar)))
	}
	quoted := strings.ReplaceAll(strings.Join(all, string(filepath.ListSeparator)), `\`, `\\`)
	classPath := fmt.Sprintf("-cp \"%s\"\n", quoted)
	options := "-Xmx96m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto\n" + opened() + classPath
	return errors.Join(
		os.WriteFile(filepath.Join(b.dir, classPathFile), []byte(classPath), 0o644),
		os.WriteFile(filepath.Join(b.dir, "java.args"), []byte(options), 0o644),
		os.Mkdir(filepath.Join(b.dir, classLists), 0o755))
}

// classPathFile has the option of the JVM that names all jars.
const classPathFile = "classpath.args"

// opened are the options that let libraries from before Java 9 reflect on the JDK's own fields.
func opened() string {
	var out strings.Builder
	for _, pkg := range []string{"java.io", "java.lang", "java.lang.reflect", "java.math", "java.net", "java.text", "java.time", "java.util", "java.util.concurrent"} {
		fmt.Fprintf(&out, "--add-opens=java.base/%s=ALL-UNNAMED\n", pkg)
	}
	return out.String()
}

// interpreterFile names the Python that the packages were installed for.
const interpreterFile = "python"

// buildPython installs the packages beside the client, where Python looks first.
func buildPython(ctx context.Context, b *building) error {
	// python3 may be a script that starts one of several.
	interpreter, err := b.run(ctx, "", "python3", "-c", "import sys; print(sys.executable, end='')")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.dir, interpreterFile), []byte(interpreter), 0o644); err != nil {
		return err
	}
	install := func(what ...string) error {
		args := append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-script-location", "--target", b.dir}, what...)
		_, err := b.run(ctx, "", interpreter, args...)
		return err
	}
	if b.tested() {
		err = install("-r", "requirements/"+b.folder+".txt")
	} else {
		var pinned, named []string
		if pinned, named, err = b.besides(); err != nil {
			return err
		}
		// Those that the tested version goes with are known to work. If another one does not go with them, pip chooses.
		this := b.library + "==" + b.version
		if err = install(append(pinned, this)...); err != nil && ctx.Err() == nil {
			err = install(append(named, this)...)
		}
	}
	if err != nil {
		return fmt.Errorf("%w (pip missing? apt install python3-pip)", err)
	}
	return nil
}

// besides are the packages of the manifest but for the library, with and without their versions: the client
// may import what the library only needs for some of its locks.
func (b *building) besides() (pinned, named []string, err error) {
	manifest, err := os.ReadFile(filepath.Join(b.dir, "requirements", b.folder+".txt"))
	if err != nil {
		return nil, nil, err
	}
	for text := range strings.Lines(string(manifest)) {
		line := strings.TrimSpace(text)
		if name, _, ok := strings.Cut(line, "=="); ok && name != b.library {
			pinned, named = append(pinned, line), append(named, name)
		}
	}
	return pinned, named, nil
}

// buildNode installs what the lock file names, or, of another version, what npm finds for it, even if
// that version asks for an older release of a package that the client brings along. Nothing of the
// packages is run for that.
func buildNode(ctx context.Context, b *building) error {
	quiet := []string{"--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"}
	if b.tested() {
		_, err := b.run(ctx, b.folder, "npm", append([]string{"ci"}, quiet...)...)
		return err
	}
	manifest := filepath.Join(b.dir, b.folder, "package.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("read package.json: %w", err)
	}
	dependencies, ok := fields["dependencies"].(map[string]any)
	if !ok {
		return errors.New("package.json has no dependencies")
	}
	dependencies[b.library] = b.version
	if text, err = json.Marshal(fields); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(manifest, text, 0o644), os.Remove(filepath.Join(b.dir, b.folder, "package-lock.json"))); err != nil {
		return err
	}
	_, err = b.run(ctx, b.folder, "npm", append([]string{"install", "--legacy-peer-deps"}, quiet...)...)
	return err
}

// buildGo compiles the client in a module of its own. For another version than the tested one, what the
// library depends on is what that version asks for.
func buildGo(ctx context.Context, b *building) error {
	at := func(name string) string { return filepath.Join(b.dir, name) }
	module := filepath.Join(at(b.folder), "go.mod.tmpl")
	if b.tested() {
		if err := errors.Join(os.Rename(module, at("go.mod")), os.Rename(filepath.Join(at(b.folder), "go.sum"), at("go.sum"))); err != nil {
			return err
		}
	} else {
		text, err := os.ReadFile(module)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(string(text), "\n")
		if err := os.WriteFile(at("go.mod"), []byte(name+"\n\ngo 1.24\n"), 0o644); err != nil {
			return err
		}
		if _, err := b.run(ctx, "", "go", "get", b.library+"@v"+b.version); err != nil {
			return err
		}
	}
	args := []string{"build", "-tags", "library", "-trimpath", "-ldflags", "-s -w", "-o", "client"}
	if !b.tested() {
		args = append(args, "-mod", "mod")
	}
	_, err := b.run(ctx, "", "go", append(args, "./"+b.folder)...)
	return err
}

// buildRust compiles the client, and keeps nothing but that.
func buildRust(ctx context.Context, b *building) error {
	args := []string{"build", "--release", "--quiet", "--target-dir", filepath.Join(b.dir, "target")}
	if b.tested() {
		args = append(args, "--locked")
	} else if err := b.edit(b.folder+"/Cargo.toml", b.library+` = { version = "=`+b.line.version+`"`, b.library+` = { version = "=`+b.version+`"`); err != nil {
		return err
	}
	if _, err := b.run(ctx, b.folder, "cargo", args...); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(b.dir, "target", "release", "client"), filepath.Join(b.dir, "client")); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(b.dir, "target"))
}
