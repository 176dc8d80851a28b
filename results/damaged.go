package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Damaged adds the repair to what is wrong with a record's content. An error of the
// machine, as a full disk or a missing right, says itself what to do.
func Damaged(err error) error {
	var path *fs.PathError
	var number syscall.Errno
	if err == nil || errors.As(err, &path) || errors.As(err, &number) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: the file is damaged, repair the line or run again", err)
}
