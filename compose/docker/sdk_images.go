package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

func (s sdk) image(ctx context.Context, ref string) (string, error) {
	i, err := s.c.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return "", nil
	}
	return i.ID, err
}

func (s sdk) images(ctx context.Context, label string) ([]object, error) {
	list, err := s.c.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	var out []object
	for _, i := range list {
		tags := slices.DeleteFunc(i.RepoTags, func(tag string) bool { return strings.HasPrefix(tag, "<none>") })
		if len(tags) == 0 {
			tags = []string{i.ID} // two runs that built it at once: one has lost the name
		}
		for _, tag := range tags {
			out = append(out, object{ID: i.ID, Name: tag, Labels: i.Labels})
		}
	}
	return out, err
}

func (s sdk) build(ctx context.Context, files io.Reader, ref string, labels map[string]string) error {
	r, err := s.c.ImageBuild(ctx, files, build.ImageBuildOptions{
		Tags: []string{ref}, Labels: labels, Remove: true, ForceRemove: true, Version: build.BuilderV1,
	})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	lines := json.NewDecoder(r.Body)
	for {
		var m struct{ Error string }
		if err := lines.Decode(&m); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if m.Error != "" {
			return errors.New(m.Error)
		}
	}
}

func (s sdk) removeImage(ctx context.Context, ref string) error {
	_, err := s.c.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true})
	return gone(err)
}
