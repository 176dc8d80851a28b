//go:build !linux

package disk

import "errors"

// Mount is possible on Linux only.
func Mount(at, store string) (mounted, error) {
	return nil, errors.New("a disk of ours needs Linux")
}
