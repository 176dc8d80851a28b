package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients/java"
	"github.com/picklock/picklock/clients/node"
	"github.com/picklock/picklock/clients/python"
	"github.com/picklock/picklock/internal/suggest"
)

//go:embed skeleton
var skeleton embed.FS

// adapters speak the exec protocol for a lock, by language: the files that the clients of libraries
// use, too.
var adapters = map[string]struct {
	from fs.FS
	file string
}{
	"java":   {java.Sources, "adapter/Adapter.java"},
	"node":   {node.Sources, "adapter.mjs"},
	"python": {python.Sources, "picklock.py"},
}

// languages are those that there is a skeleton for: how to build it, where that has to
// be done, and how it is started. {} stands for the folder.
var languages = map[string]struct{ build, run string }{
	"go":     {"go build -C {} -o lock .", "{}/lock"},
	"java":   {"javac -cp {} {}/Lock.java", "java -cp {} Lock"},
	"node":   {"", "node {}/lock.mjs"},
	"python": {"", "python3 {}/lock.py"},
}

func lockInitCommand() *cobra.Command {
	var lang string
	c := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a skeleton of a lock program in a language, and a cluster for it",
		Long: `Write a program that speaks picklock's exec protocol with a lock on Redis in it, and a
Compose file with the Redis. Both run as they are; put your own lock and your own
servers in their place (docs/guides/your-lock.md). Nothing that is there is overwritten.`,
		Example: `  picklock lock init mylock
  picklock lock init --lang go mylock`,
		Args: oneArgument("a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, ok := languages[lang]
			if !ok {
				return usage(suggest.Unknown("language", lang, slices.Sorted(maps.Keys(languages))))
			}
			if _, ok := languages[args[0]]; ok && !cmd.Flags().Changed("lang") {
				return usage(fmt.Errorf("%s is a language: picklock lock init --lang %s DIR (for a folder of that name: ./%s)", args[0], args[0], args[0]))
			}
			dir := filepath.Clean(args[0])
			if strings.ContainsAny(dir, "'\" \n") {
				return usage(fmt.Errorf("folder %q: its name has to be a word of the shell's", dir))
			}
			if err := writeSkeleton(dir, lang); err != nil {
				return err
			}
			fmt.Printf("A lock in %s (--lang writes another: %s). Now:\n", lang, strings.Join(slices.Sorted(maps.Keys(languages)), ", "))
			for _, line := range []string{l.build, "picklock run --lock 'exec:" + l.run + "' --cluster {}/compose.yml --faults pause:holder"} {
				if line != "" {
					fmt.Println("  " + strings.ReplaceAll(line, "{}", filepath.ToSlash(dir)))
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&lang, "lang", "python", "write it in this language: "+strings.Join(slices.Sorted(maps.Keys(languages)), ", "))
	return c
}

// skeletonFiles are the files of a language and the Compose file, by name.
func skeletonFiles(lang string) (map[string][]byte, error) {
	files := map[string][]byte{}
	take := func(from fs.FS, file, name string) (err error) {
		files[name], err = fs.ReadFile(from, file)
		return err
	}
	templates, err := fs.Glob(skeleton, "skeleton/"+lang+"/*.tmpl")
	if err != nil {
		return nil, err
	}
	for _, t := range templates {
		if err := take(skeleton, t, strings.TrimSuffix(path.Base(t), ".tmpl")); err != nil {
			return nil, err
		}
	}
	if a, ok := adapters[lang]; ok {
		if err := take(a.from, a.file, path.Base(a.file)); err != nil {
			return nil, err
		}
	}
	return files, take(skeleton, "skeleton/compose.yml", "compose.yml")
}

// writeSkeleton writes the files of a language and the Compose file, and says which.
func writeSkeleton(dir, lang string) error {
	files, err := skeletonFiles(lang)
	if err != nil {
		return err
	}
	for name := range files {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return usage(fmt.Errorf("%s is there already: name a new folder", filepath.Join(dir, name)))
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(files[name])
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", f.Name(), err)
		}
		fmt.Println("wrote", f.Name())
	}
	return nil
}
