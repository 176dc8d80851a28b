package proc

// AtRest says that no thread of some processes, or of what belongs to them (see Tree), runs, waits for
// a processor, or for a disk: all of them wait for others, for a time, or were stopped. stopped
// are those of pids of which all threads were. It is asked often, so it lists the machine's processes once at most.
func AtRest(pids ...int) (rest bool, stopped []int, err error) {
	for _, pid := range pids { // mostly it is one of these that runs: then the others need not be looked for
		if p, ok := Find(pid); ok {
			if rest, _, err := AllAtRest([]Process{p}); err != nil || !rest {
				return false, nil, err
			}
		}
	}
	all, err := List()
	if err != nil {
		return false, nil, err
	}
	for _, pid := range pids {
		rest, still, err := AllAtRest(tree(all, pid))
		if err != nil || !rest {
			return false, nil, err
		}
		if still {
			stopped = append(stopped, pid)
		}
	}
	return true, stopped, nil
}

// AllAtRest says that no thread of these processes runs, as AtRest, and whether all of them were stopped.
func AllAtRest(some []Process) (rest, stopped bool, err error) {
	stopped = len(some) > 0
	for _, p := range some {
		if p.Ended() {
			continue
		}
		threads, err := threads(p)
		if err != nil {
			return false, false, err
		}
		for _, t := range threads {
			switch {
			case t.Ended():
			case t.Stopped():
			case t.State == 'S' || t.State == 'I':
				stopped = false
			default:
				return false, false, nil
			}
		}
	}
	return true, stopped, nil
}
