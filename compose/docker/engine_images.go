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

// image returns the id of an image, "" if it is not there.
func (e engine) image(ctx context.Context, ref string) (string, error) {
	i, err := e.c.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return "", nil
	}
	return i.ID, err
}

func (e engine) images(ctx context.Context, label string) ([]object, error) {
	list, err := e.c.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
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

// build makes an image out of a tar archive with a Dockerfile.
func (e engine) build(ctx context.Context, files io.Reader, ref string, labels map[string]string) error {
	r, err := e.c.ImageBuild(ctx, files, build.ImageBuildOptions{
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

func (e engine) removeImage(ctx context.Context, ref string) error {
	_, err := e.c.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true})
	return gone(err)
}
