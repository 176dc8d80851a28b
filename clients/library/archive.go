package library

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/internal/built"
)

// A JVM spends half of a client's processor time on loading and verifying classes. An archive of those
// that clients have loaded (JEP 310) takes that off all that start later. Which classes these are only
// clients know that have used the lock, so that the archive is made after the first of them have run.
const (
	classArchive = "classes.jsa"
	classLists   = "loaded" // a folder with a list of each client that ran before there was an archive
	listedMost   = 8        // clients: more tell nothing new
	archiveTakes = time.Minute
)

// startJava is the command line of a client. It uses the archive, and if there is none, tells which
// classes it loads.
func startJava(p program, dir string) (string, error) {
	words := []string{"java", "@" + filepath.Join(dir, "java.args")}
	if archive := filepath.Join(dir, classArchive); exists(archive) {
		words = append(words, "-XX:SharedArchiveFile="+archive)
	} else if list := newClassList(dir); list != "" {
		words = append(words, "-XX:DumpLoadedClassList="+list)
	}
	return shell(p, append(words, p.program)...), nil
}

// newClassList is a file for the classes of a client that is about to start, or "" if none is wanted,
// or none can be written: the client then runs as well.
func newClassList(dir string) string {
	folder := filepath.Join(dir, classLists)
	have, err := os.ReadDir(folder)
	if err != nil || len(have) >= listedMost {
		return ""
	}
	f, err := os.CreateTemp(folder, "*.txt")
	if err != nil {
		return ""
	}
	f.Close()
	return f.Name()
}

// archiveJava makes the archive from what clients have told. The ones that still run may not have
// written the end of their lists. Without a list it does nothing.
func archiveJava(ctx context.Context, dir string) (made bool, err error) {
	classes, err := loadedClasses(filepath.Join(dir, classLists))
	if err != nil || len(classes) == 0 || exists(filepath.Join(dir, classArchive)) {
		return false, err
	}
	list := filepath.Join(dir, classLists, "all")
	if err := os.WriteFile(list, []byte(strings.Join(classes, "\n")+"\n"), 0o644); err != nil {
		return false, err
	}
	temp := filepath.Join(dir, classArchive+".building")
	defer os.Remove(temp)
	ctx, cancel := context.WithTimeout(ctx, archiveTakes)
	defer cancel()
	// Only G1 writes the JDK's own objects, which the clients' collector can read as well.
	if _, err := built.Run(ctx, dir, "java", "-Xshare:dump", "-XX:+UseG1GC", "-Xmx256m", "-XX:SharedClassListFile="+list, "-XX:SharedArchiveFile="+temp, "@"+filepath.Join(dir, classPathFile)); err != nil {
		return false, err
	}
	return true, os.Rename(temp, filepath.Join(dir, classArchive))
}

// loadedClasses are the lines of all lists, each once.
func loadedClasses(folder string) ([]string, error) {
	lists, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		whole := text[:strings.LastIndexByte(string(text), '\n')+1]
		for line := range strings.Lines(string(whole)) {
			// Classes of a library's own loaders have numbers, which are another's in another list.
			if !strings.HasPrefix(line, "#") && !strings.Contains(line, " source: ") {
				all = append(all, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(line string) bool {
		twice := seen[line]
		seen[line] = true
		return twice
	}), nil
}

// quicken implements clients.Library.
func (p program) quicken(ctx context.Context, say func(text string)) error {
	if p.language.archive == nil {
		return nil
	}
	f, err := p.built()
	if err != nil {
		return err
	}
	unlock, err := f.Alone(ctx, say)
	if err != nil {
		return err
	}
	defer unlock()
	began := time.Now()
	made, err := p.language.archive(ctx, f.Path)
	if err != nil {
		return fmt.Errorf("make an archive of the classes of %s: %w", p.lock, err)
	}
	if made {
		say(fmt.Sprintf("%s: made an archive of its classes in %v, once, so that its clients start sooner", p.lock, time.Since(began).Round(100*time.Millisecond)))
	}
	return nil
}

// slow says that clients would start sooner after quicken.
func (p program) slow() bool {
	dir, err := p.dir()
	return err == nil && p.language.archive != nil && !exists(filepath.Join(dir, classArchive))
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
