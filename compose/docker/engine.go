package docker

import (
	"context"
	"io"
	"net/netip"
	"time"
)

// engine is all that this package asks of a Docker Engine. Everything that is found
// is found by label.
type engine interface {
	info(ctx context.Context) (info, error)

	// image returns the id of an image, "" if it is not there.
	image(ctx context.Context, ref string) (string, error)
	images(ctx context.Context, label string) ([]object, error)
	// build makes an image out of a tar archive with a Dockerfile.
	build(ctx context.Context, files io.Reader, ref string, labels map[string]string) error
	removeImage(ctx context.Context, ref string) error

	create(ctx context.Context, s spec) (id string, err error)
	// attach connects to a container's standard streams, before it is started.
	attach(ctx context.Context, id string) (*streams, error)
	start(ctx context.Context, id string) error
	kill(ctx context.Context, id string) error
	inspect(ctx context.Context, id string) (instance, error)
	// await returns a function that waits for the container's end: for the next one,
	// or for any that has come already.
	await(ctx context.Context, id string, next bool) func() (code int64, err error)
	// logs copies what a container writes, from a moment on until it ends.
	logs(ctx context.Context, id string, since time.Time, to io.Writer) error
	// recreate makes the container anew, without the data that it had.
	recreate(ctx context.Context, id string) (newID string, err error)
	// files reads a folder of a container, which need not run, as a tar archive. The
	// names in it begin with the folder's own.
	files(ctx context.Context, id, dir string) (io.ReadCloser, error)
	// put unpacks a tar archive into a folder of a container, which need not run.
	put(ctx context.Context, id, dir string, archive io.Reader) error
	containers(ctx context.Context, labels ...string) ([]object, error)
	removeContainer(ctx context.Context, id string) error

	// network makes a network on a free subnet.
	network(ctx context.Context, name string, labels map[string]string) (netip.Prefix, error)
	networks(ctx context.Context, label string) ([]object, error)
	removeNetwork(ctx context.Context, id string) error

	volume(ctx context.Context, name string, labels map[string]string) error
	volumes(ctx context.Context, label string) ([]object, error)
	removeVolume(ctx context.Context, name string) error

	close() error
}

// info is what there is to know of the engine itself.
type info struct {
	Version, OS, Arch, Name string
	CPUs                    int
	AppArmor                bool
	Now                     time.Time
}

// object is a container, an image, a network or a volume in a list.
type object struct {
	ID, Name, State string
	Labels          map[string]string
	Created         time.Time
}

// spec is a container to make.
type spec struct {
	Name, Image string
	Args        []string
	Env         []string
	Labels      map[string]string
	Network     string // "none" for none
	Addr, Alias string
	Hosts       []string // "name:address"
	Volume      string   // to be mounted at sharedDirectory; "" for none
	// Caps makes it the agent: it sees the host's processes and has these
	// capabilities and no other.
	Caps     []string
	AppArmor bool // the engine has it, and it has to be off
}

// instance is one container as it is now.
type instance struct {
	ID, Name, State string
	PID             int
	Code            int
	Error           string
	Finished        time.Time // when it ended last; zero if never
	Labels          map[string]string
	NetworkMode     string
	Addrs           map[string]string // by network
	Image           string
	WorkDir         string
	Binds           []string // its folders that are folders of the engine's machine
}

// streams are a container's standard streams.
type streams struct {
	stdin io.WriteCloser
	// copy splits the output until it ends.
	copy  func(stdout, stderr io.Writer) error
	close func()
}
