package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// programEnv names the Linux program that goes into the image, where the one that
// is running cannot.
const programEnv = "PICKLOCK_LINUX_BINARY"

const (
	programRepo = "picklock"        // of the image that holds nothing but the program
	clientRepo  = "picklock-client" // of images that hold a user's program besides
)

// ownImages is what picklock calls its images.
var ownImages = regexp.MustCompile(`^(` + programRepo + `|` + clientRepo + `):[0-9a-f]{12}$`)

// ownImage says that picklock gave an image its name. The label alone does not: an image that
// was built from one of picklock's has it as well.
func ownImage(name string) bool { return ownImages.MatchString(name) }

// programImage makes the image of picklock's own program, unless it is there. base is an
// image to put the program into, "" for none: then it is all that the image holds.
// The tag is a digest of both, so that a program is sent to an engine once.
func (e *Engine) programImage(ctx context.Context, self, base string) (string, error) {
	if p := os.Getenv(programEnv); p != "" {
		self = p
	}
	f, err := os.Open(self)
	if err != nil {
		return "", fmt.Errorf("make the image of picklock: %w", err)
	}
	defer f.Close()
	if err := static(f, e.about.Arch); err != nil {
		return "", fmt.Errorf("make the image of picklock: %s %w", self, err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("make the image of picklock: %w", err)
	}
	repo, from := programRepo, "scratch"
	if base != "" {
		id, err := e.engine.image(ctx, base)
		if err != nil {
			return "", fmt.Errorf("look for the clients' image %s: %w", base, err)
		}
		if id == "" {
			return "", fmt.Errorf("the clients' image %s is not on the engine: docker pull or docker build it first", base)
		}
		fmt.Fprint(h, id)
		repo, from = clientRepo, base
	}
	ref := repo + ":" + hex.EncodeToString(h.Sum(nil))[:12]
	// Runs that start at once must not build the image at once: the tag would move
	// from under the first. The program's file is what they have in common.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("make the image of picklock: lock %s: %w", self, err)
	}
	if id, err := e.engine.image(ctx, ref); err != nil || id != "" {
		return ref, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("make the image of picklock: %w", err)
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(writeContext(w, f, from)) }()
	err = e.engine.build(ctx, r, ref, map[string]string{labelAny: "1"})
	r.Close()
	if err != nil {
		return "", fmt.Errorf("make the image of picklock: %w", err)
	}
	e.removeOldImages(ctx, repo, ref)
	return ref, nil
}

// removeOldImages removes what earlier builds of the program left, unless a
// container still needs it.
func (e *Engine) removeOldImages(ctx context.Context, repo, keep string) {
	old, err := e.engine.images(ctx, labelAny+"=1")
	if err != nil {
		return // they take room, and picklock clean removes them
	}
	for _, i := range old {
		// One without a name may be another build under way.
		if i.Name != keep && ownImage(i.Name) && strings.HasPrefix(i.Name, repo+":") {
			_ = e.engine.removeImage(ctx, i.Name) // likewise
		}
	}
}

func writeContext(w io.Writer, program *os.File, from string) error {
	info, err := program.Stat()
	if err != nil {
		return err
	}
	dockerfile := "FROM " + from + "\nCOPY picklock /picklock\nENTRYPOINT [\"/picklock\"]\nCMD []\n"
	t := tar.NewWriter(w)
	if err := t.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(dockerfile))}); err != nil {
		return err
	}
	if _, err := io.WriteString(t, dockerfile); err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: "picklock", Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	if _, err := io.Copy(t, program); err != nil {
		return err
	}
	return t.Close()
}

// machines are the engine's words for what a program is made for.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "x86_64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "aarch64": elf.EM_AARCH64,
}

// static returns nil if the program can run in an empty image on the engine.
func static(f io.ReaderAt, arch string) error {
	todo := fmt.Sprintf("build one with CGO_ENABLED=0 GOOS=linux GOARCH=%s go build ./cmd/picklock, and name it in %s", arch, programEnv)
	p, err := elf.NewFile(f)
	if err != nil {
		return fmt.Errorf("is not a Linux program: %s", todo)
	}
	if want, known := machines[arch]; known && p.Machine != want {
		return fmt.Errorf("is made for %v, the engine is %s: %s", p.Machine, arch, todo)
	}
	for _, s := range p.Progs {
		if s.Type == elf.PT_INTERP {
			return errors.New("is not a static program: " + todo)
		}
	}
	return nil
}
