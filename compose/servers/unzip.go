package servers

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// largestUnzipped bounds what is taken out of an archive, in bytes.
const largestUnzipped = 256 << 20

// unzip writes the first file of a zip archive that matches a pattern to a new file, and nothing else of the archive. The pattern
// is of the file's name without its folder, as path.Match has it.
func unzip(archive, pattern, to string, mode fs.FileMode) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		match, err := path.Match(pattern, path.Base(f.Name))
		if err != nil {
			return err
		}
		if !match || f.FileInfo().IsDir() {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return errors.Join(err, in.Close())
		}
		n, err := io.Copy(out, io.LimitReader(in, largestUnzipped+1))
		if err = errors.Join(err, in.Close(), out.Close()); err == nil && n > largestUnzipped {
			err = fmt.Errorf("%s has over %d bytes", f.Name, largestUnzipped)
		}
		return err
	}
	return fmt.Errorf("it carries no %s for this machine", pattern)
}
