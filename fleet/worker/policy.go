package worker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/scenarios"
)

// Without AllowExec a worker runs what it has itself, and nothing that the queue brings: its locks,
// its clusters, its runtimes, its images. A Compose file of the worker's own machine counts as
// brought, too: the queue chooses it, and it can start any program.

// allowed looks up a lock, and refuses one that this worker must not run.
func (w *worker) allowed(lock string) (clients.Info, error) {
	info, err := w.o.Table.Lookup(lock)
	switch {
	case err != nil:
		return info, err
	case info.IsExec() && !w.o.AllowExec:
		return info, fmt.Errorf("%s is a program: start the worker with --allow-exec to allow it", lock)
	case strings.Contains(info.Name, "@") && !w.o.AllowExec:
		return info, fmt.Errorf("%s is a version of a library that the queue has chosen, and its code would run here: start the worker with --allow-exec to allow it", lock)
	case w.o.Locks != nil && !slices.Contains(w.o.Locks, info.Name):
		return info, fmt.Errorf("%s is not among --locks %s", info.Name, strings.Join(w.o.Locks, ","))
	}
	return info, nil
}

// cluster refuses any but picklock's own: a Compose file can run programs, and an endpoint is a
// service in use.
func (w *worker) cluster(name string) error {
	if w.o.AllowExec || name == "" || name == "none" || slices.Contains(compose.Names(), name) {
		return nil
	}
	what := "is neither a cluster of picklock nor a Compose file that this worker may run"
	switch _, _, versioned := compose.Version(name); {
	case versioned:
		what = "has servers of a version that the queue has chosen, and their code would run here"
	case strings.HasPrefix(name, compose.EndpointPrefix):
		what = "is a service that picklock did not start"
	}
	return fmt.Errorf("cluster %q %s: start the worker with --allow-exec to allow it", name, what)
}

// runtime refuses a runtime that the worker was not started for, and images that it does not list.
func (w *worker) runtime(j fleet.Job) error {
	switch {
	case j.Runtime != "local" && j.Runtime != "docker":
		return fmt.Errorf("runtime %q is unknown here", j.Runtime)
	case j.Runtime == "docker" && !w.o.AllowDocker && !w.o.AllowExec:
		return errors.New("it runs containers (runtime: docker): start the worker with --allow-docker to allow it")
	}
	for _, service := range slices.Sorted(maps.Keys(j.Images)) {
		image := j.Images[service]
		if !plainName.MatchString(service) || !imageName.MatchString(image) {
			return fmt.Errorf("image %q of %q is not an image's name", image, service)
		}
		if !w.o.AllowExec && !slices.Contains(w.o.Images, image) {
			return fmt.Errorf("image %q of %q is not among --images: list it there, or start the worker with --allow-exec", image, service)
		}
	}
	return nil
}

// scenario refuses a scenario that brings a cluster or programs of its own.
func (w *worker) scenario(s *scenarios.Scenario) error {
	if err := w.cluster(s.Cluster); err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	if w.o.AllowExec {
		return nil
	}
	if s.Folder != "" {
		return fmt.Errorf("scenario %s starts programs in the folder %q: start the worker with --allow-exec to allow it", s.Name, s.Folder)
	}
	for _, lock := range s.Locks {
		if strings.HasPrefix(lock, clients.ExecPrefix) {
			return fmt.Errorf("scenario %s names the program %s: start the worker with --allow-exec to allow it", s.Name, lock)
		}
	}
	return nil
}
