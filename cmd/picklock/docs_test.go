package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command line that a page or a --help shows is one that there is: the command,
// and each of its flags.
func TestDocumentedCommandsExist(t *testing.T) {
	lines := 0
	check := func(where, text string) {
		for _, line := range commandLines(text) {
			lines++
			if err := understood(newRoot(), line); err != nil {
				t.Errorf("%s: %s: %v", where, line, err)
			}
		}
	}
	for _, page := range append([]string{"../../README.md", "../../CONTRIBUTING.md"}, markdown(t, "../../docs")...) {
		if filepath.Base(page) == commandPage {
			continue // it is made of the help texts, which are looked at below
		}
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		check(page, string(b))
	}
	if lines < 60 {
		t.Errorf("only %d command lines were found in the pages", lines)
	}
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		check(c.CommandPath()+" --help", "```\n"+c.Example)
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(newRoot())
}

// The check sees what it is there to see.
func TestUndocumentedCommandsAreSeen(t *testing.T) {
	for text, want := range map[string]string{
		"    bin/picklock run --lock redis --faults pause:holder # why": "",
		"    bin/picklock run --lokc redis":                             "--lokc",
		"    picklock scenario run --lock redis \\\n      --jbos 2":     "--jbos",
		"`picklock frobnicate --x`":                                     "frobnicate",
		"`picklock scenario frobnicate`":                                "frobnicate",
		"say `picklock run --nothing` and":                              "--nothing",
		"    sudo picklock clean && picklock doctor --what":             "--what",
		"    X=1 picklock run -q":                                       "-q",
		"    picklock run --lock 'exec:python3 --own flag.py'":          "",
		"the picklock run --nothing in a sentence":                      "",
		"    picklock run --lock exec:X | grep --color":                 "",
	} {
		var got []string
		for _, line := range commandLines(text) {
			if err := understood(newRoot(), line); err != nil {
				got = append(got, err.Error())
			}
		}
		if said := strings.Join(got, "; "); (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("%q: %q, want %q", text, said, want)
		}
	}
}

func markdown(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var (
	inCode  = regexp.MustCompile("`((?:bin/)?picklock [^`]*)`")
	inBlock = regexp.MustCompile(`(?:^|[\s;&|(])(?:\S*/)?picklock ([a-z-].*)$`)
)

// commandLines lists the calls of picklock in blocks of code and in code within a
// sentence, without the program's name.
func commandLines(text string) []string {
	text = strings.ReplaceAll(text, "\\\n", " ")
	var out []string
	fenced := false
	var prose []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced && !strings.HasPrefix(line, "    ") {
			prose = append(prose, line)
			continue
		}
		if !fenced && strings.Contains(line, "`") {
			prose = append(prose, line) // a list's second line
			continue
		}
		for _, part := range regexp.MustCompile(`&&|;`).Split(line, -1) {
			if m := inBlock.FindStringSubmatch(part); m != nil {
				out = append(out, m[1])
			}
		}
	}
	for _, m := range inCode.FindAllStringSubmatch(strings.Join(prose, "\n"), -1) {
		call := strings.Join(strings.Fields(m[1]), " ")
		out = append(out, call[strings.Index(call, " ")+1:])
	}
	return out
}

// words splits a line as a shell does, as far as pages need it, up to what is the
// shell's own.
func words(line string) []string {
	var out []string
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			if begun {
				out = append(out, word.String())
			}
			word.Reset()
			begun = false
		case !begun && strings.ContainsRune("#|>&", r):
			return out
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		out = append(out, word.String())
	}
	return out
}

// understood says what there is not of a command line.
func understood(root *cobra.Command, line string) error {
	args := words(line)
	c := root
	for len(args) > 0 && c.HasSubCommands() && !strings.HasPrefix(args[0], "-") {
		i := slices.IndexFunc(c.Commands(), func(s *cobra.Command) bool { return s.Name() == args[0] || s.HasAlias(args[0]) })
		if i < 0 {
			if regexp.MustCompile(`^[A-Z.…]`).MatchString(args[0]) || args[0] == "help" || args[0] == "completion" {
				return nil // a placeholder, or cobra's own
			}
			return fmt.Errorf("there is no command %s", args[0])
		}
		c, args = c.Commands()[i], args[1:]
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, _, given := strings.Cut(strings.Trim(args[i], "[],.:"), "=")
		var f *pflag.Flag
		switch {
		case strings.HasPrefix(name, "--"):
			f = c.Flag(name[2:])
		case strings.HasPrefix(name, "-") && len(name) > 1:
			f = c.Flags().ShorthandLookup(name[1:2])
			given = given || len(name) > 2
		default:
			continue
		}
		if f == nil {
			return fmt.Errorf("%s has no flag %s", c.CommandPath(), name)
		}
		if !given && f.NoOptDefVal == "" {
			i++ // its value
		}
	}
	return nil
}
