package compose

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// processes lists all processes that there are.
func processes() ([]Relative, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []Relative
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has just ended
		}
		// "pid (name) state parent group ...": the name may hold anything.
		f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(f) < 3 {
			continue
		}
		r := Relative{PID: pid, State: f[0][0]}
		var perr, gerr error
		r.parent, perr = strconv.Atoi(string(f[1]))
		r.Group, gerr = strconv.Atoi(string(f[2]))
		if perr == nil && gerr == nil {
			out = append(out, r)
		}
	}
	return out, nil
}
