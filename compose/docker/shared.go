package docker

import "github.com/picklock/picklock/compose"

// sharedDirectory is where clients find the directory that they share.
const sharedDirectory = "/picklock-shared"

// Directory implements compose.Cluster.
func (c *Cluster) Directory() string {
	if c.def.Directory == "" {
		return ""
	}
	return sharedDirectory
}

// volume is the volume behind the directory that clients share, "" for nodes that have
// none. It has the name that Compose would give it, so that the file's own services can
// use it too.
func (c *Cluster) volume(r compose.Role) string {
	if c.def.Directory == "" || r != compose.Client {
		return ""
	}
	return project(c.run) + "_" + c.def.Directory
}
