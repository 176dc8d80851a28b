package harness

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/picklock/picklock/results"
)

// describe is run.json as far as it is known before anything runs.
func (p *plan) describe(o Options) results.Run {
	desc := results.Run{
		Command: o.Command(), Started: time.Now(), Settings: p.Settings,
		About: p.lock.About, NoLock: p.lock.Unlocked != nil,
		Kind: p.lock.Kind, Downgrades: p.lock.Downgrades, Cancels: p.lock.Cancels, Several: p.lock.Several, OwnLeases: p.lock.OwnLeases, Permits: p.lock.Permits(p.Extra), Runtime: p.Runtime.Name(), Bound: p.bound, Lease: p.leased,
		Versions: versions(p.lock.Module),
		Machine:  machine(),
	}
	desc.Lock = p.lock.Name
	if p.lock.IsExec() && desc.Runtime == "local" {
		// Its command may name files relative to it.
		if folder, err := filepath.Abs(p.Folder); err == nil {
			desc.Folder = folder
		}
	}
	if p.backend.OpenAdmin == nil {
		desc.Register = ""
	}
	return desc
}

// versions are those of the program and of the library under test, if there is one.
func versions(module string) map[string]string {
	v := map[string]string{"picklock": Version(), "go": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok && module != "" {
		for _, d := range info.Deps {
			if d.Path == module {
				v[module] = d.Version
			}
		}
	}
	return v
}

// Version is the program's own version as the Go tool recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}

func machine() results.Machine {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = nil // not Linux
	}
	return results.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: strings.TrimSpace(string(kernel)), CPUs: runtime.NumCPU()}
}
