//go:build !linux

package disk

import "errors"

// Mount is possible on Linux only.
func Mount(at, store string) (mounted, error) {
	return nil, errors.New("picklock's own disk needs Linux")
}
