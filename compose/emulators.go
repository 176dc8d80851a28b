package compose

import "slices"

// Emulators names the programs that stand in for a service of the cluster on a runtime,
// each once: what a lock does there says nothing of how the service itself keeps it.
func (d *Definition) Emulators(runtime string) []string {
	var out []string
	for _, s := range d.Servers() {
		name := s.Spec.Emulator
		if runtime == "local" {
			name = ""
			if s.Spec.Local != nil {
				name = s.Spec.Local.Emulator
			}
		}
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
