package docker

import (
	"context"
	"io"

	"github.com/docker/docker/api/types/container"
)

func (s sdk) files(ctx context.Context, id, dir string) (io.ReadCloser, error) {
	r, _, err := s.c.CopyFromContainer(ctx, id, dir)
	return r, err
}

func (s sdk) put(ctx context.Context, id, dir string, archive io.Reader) error {
	return s.c.CopyToContainer(ctx, id, dir, archive, container.CopyToContainerOptions{})
}
