package compose

import "slices"

// Relative is one process of a node.
type Relative struct {
	PID, Group int
	State      byte // as in /proc/PID/stat: T for stopped, Z for ended
	parent     int
}

// Ended says that there is nothing left of it but its exit code.
func (r Relative) Ended() bool { return r.State == 'Z' || r.State == 'X' }

// Family lists the processes of the node whose first process is pid, that one first:
// those of its process group, and all that descend from any of them. A group alone is
// not all of a node: each process that a Postgres server makes is a group of its own.
// It is empty when none is left.
func Family(pid int) ([]Relative, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var out []Relative
	in := map[int]bool{}
	for more := true; more; { // a child may be listed before its parent
		more = false
		for _, r := range all {
			if !in[r.PID] && (r.PID == pid || r.Group == pid || in[r.parent]) {
				in[r.PID], more = true, true
				out = append(out, r)
			}
		}
	}
	if i := slices.IndexFunc(out, func(r Relative) bool { return r.PID == pid }); i > 0 {
		out[0], out[i] = out[i], out[0]
	}
	return out, nil
}
