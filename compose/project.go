package compose

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/types"
)

// load reads the file as Compose does: with what it includes and extends, the variables of
// the environment and of the file .env beside it, and the profiles of COMPOSE_PROFILES.
func (d *Definition) load(ctx context.Context) (*types.Project, error) {
	env, err := d.environment()
	if err != nil {
		return nil, err
	}
	d.values = map[string]string{}
	d.project, err = loader.LoadWithContext(ctx, types.ConfigDetails{
		WorkingDir:  filepath.Dir(d.File),
		ConfigFiles: []types.ConfigFile{{Filename: d.File, Content: d.Source}},
		Environment: env,
	}, func(o *loader.Options) {
		o.SetProjectName(loader.NormalizeProjectName("picklock-"+d.Name), true)
		o.SkipResolveEnvironment = true
		o.Profiles = strings.FieldsFunc(env["COMPOSE_PROFILES"], func(r rune) bool { return r == ',' || r == ' ' })
		o.Interpolate.Substitute = func(text string, lookup template.Mapping) (string, error) {
			return template.Substitute(text, func(name string) (string, bool) {
				value, ok := lookup(name)
				if ok {
					d.values[name] = value
				}
				return value, ok
			})
		}
	})
	if err != nil {
		return nil, err
	}
	// A variable without a value has that of the environment now.
	for _, s := range d.project.Services {
		for name, value := range s.Environment {
			if given, ok := env[name]; ok && value != nil && *value == given {
				d.values[name] = given
			}
		}
	}
	return d.project, nil
}

// environment is this process's, and what the file .env adds to it.
func (d *Definition) environment() (types.Mapping, error) {
	env := types.Mapping{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	file := filepath.Join(filepath.Dir(d.File), ".env")
	for _, f := range []string{d.File, file} { // an embedded definition has no folder
		if info, err := os.Stat(f); err != nil || info.IsDir() {
			return env, nil //nolint:nilerr // there is none
		}
	}
	more, err := dotenv.GetEnvFromFile(env, []string{file})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	maps.Copy(more, env)
	return more, nil
}

// Project is the file as Compose reads it, all that it includes and extends put together,
// without the services that no profile asks for. It is a copy. With secrets, it has the
// environment that files and this process give to services, and may go into no record.
func (d *Definition) Project(secrets bool) (*types.Project, error) {
	p, err := d.project.WithServicesLabelsResolved(true)
	if err == nil && secrets {
		p, err = p.WithServicesEnvironmentResolved(true)
	}
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", d.File, err)
	}
	return p, nil
}

// shortestSecret is how long a variable's value must be to be hidden: a shorter one would be
// found everywhere.
const shortestSecret = 4

// Hide puts the names of the file's variables back in the place of their values, in a text in
// which "$$" stands for "$".
func (d *Definition) Hide(text string) string {
	names := slices.SortedFunc(maps.Keys(d.values), func(a, b string) int {
		if c := len(d.values[b]) - len(d.values[a]); c != 0 { // one may be a part of another
			return c
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, name := range names {
		if v := d.values[name]; len(v) >= shortestSecret {
			pairs = append(pairs, strings.ReplaceAll(v, "$", "$$"), "${"+name+"}")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
