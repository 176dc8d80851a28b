package file

import (
	"time"

	"github.com/picklock/picklock/clients"
)

func flockUnlinkInfo() clients.Info {
	return clients.Info{
		Name:     "flock-unlink",
		About:    "flock(2) on a file that its holder removes at the end: a waiting client locks a file that is gone, the next client makes a new one",
		Cluster:  "directory",
		Confirms: true, // as flock: each holds its own file's lock
		MinTTL:   time.Millisecond,
		Naive:    true,
		Open:     openFlock("flock-unlink", true),
	}
}
