package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/containerd/errdefs"
)

// Sizes implements compose.Reach.
func (r reach) Sizes(ctx context.Context, node, pattern string) (map[string]int64, error) {
	dir, err := r.dataDir(ctx, node)
	if err != nil {
		return nil, err
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	folder := fixed(pattern)
	for range 5 {
		out := map[string]int64{}
		err = r.each(ctx, node, dir, folder, func(name string, h *tar.Header, _ io.Reader) error {
			if yes, _ := path.Match(pattern, name); yes && h.Typeflag == tar.TypeReg { // the pattern is well-formed
				out[name] = h.Size
			}
			return nil
		})
		switch {
		case errdefs.IsNotFound(err):
			return nil, nil
		case err == nil:
			return out, nil
		case !errors.Is(err, io.ErrUnexpectedEOF):
			return nil, err
		}
		// A file has grown while it was packed.
	}
	return nil, fmt.Errorf("its files are written to all the time: %w", err)
}

// Cut implements compose.Reach: a shortened copy takes the place of each file, with
// its owner and rights.
func (r reach) Cut(ctx context.Context, node string, sizes map[string]int64) error {
	dir, err := r.dataDir(ctx, node)
	if err != nil {
		return err
	}
	for name, size := range sizes {
		// All of it is read first: until then the engine locks the container.
		var archive bytes.Buffer
		folder, found := path.Dir(name), false
		err := r.each(ctx, node, dir, folder, func(other string, h *tar.Header, file io.Reader) error {
			if other != name {
				return nil
			}
			found = true
			h.Name, h.Size = path.Base(name), size
			return pack(&archive, h, io.LimitReader(file, size))
		})
		if err == nil && !found {
			err = errors.New("it is not there")
		}
		if err == nil {
			err = r.c.engine.put(ctx, r.c.id(node), path.Join(dir, folder), &archive)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// pack makes a tar archive of one file.
func pack(to io.Writer, h *tar.Header, file io.Reader) error {
	t := tar.NewWriter(to)
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	if _, err := io.Copy(t, file); err != nil {
		return err
	}
	return t.Close()
}

// each calls f with what is in a folder below a container's data directory. The names
// are those below that directory; nothing is written anywhere.
func (r reach) each(ctx context.Context, node, dir, folder string, f func(string, *tar.Header, io.Reader) error) error {
	archive, err := r.c.engine.files(ctx, r.c.id(node), path.Join(dir, folder))
	if err != nil {
		return err
	}
	defer archive.Close()
	files := tar.NewReader(archive)
	for {
		h, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", folder, err)
		}
		_, name, _ := strings.Cut(h.Name, "/") // the folder's own name comes first
		if err := f(path.Clean(folder+"/"+name), h, files); err != nil {
			return err
		}
	}
}

// dataDir is where a server's container keeps its data. What is in a folder of the
// engine's machine is its user's and is not cut.
func (r reach) dataDir(ctx context.Context, node string) (string, error) {
	i, err := r.c.engine.inspect(ctx, r.c.id(node))
	if err != nil {
		return "", err
	}
	dir := path.Join("/", i.WorkDir)
	if d := r.c.node(node).svc.Spec.Log.Dir; d != "" {
		dir = path.Join("/", d)
	}
	for _, b := range i.Binds {
		if below(dir, b) || below(b, dir) {
			return "", fmt.Errorf("it keeps data in %s, a folder of the engine's machine, which must not be changed: use a volume", b)
		}
	}
	return dir, nil
}

func below(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// fixed is the folder that all names which match the pattern are below: "." if they
// have none in common.
func fixed(pattern string) string {
	dir := path.Dir(pattern)
	for strings.ContainsAny(dir, `*?[\`) {
		dir = path.Dir(dir)
	}
	return dir
}
