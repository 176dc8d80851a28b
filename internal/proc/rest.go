package proc

// AtRest says that no thread of a process, or of what belongs to it (see Tree), runs, waits for
// a processor, or for a disk: all of them wait for others, for a time, or were stopped. stopped
// says that all of them were.
func AtRest(pid int) (rest, stopped bool, err error) {
	tree, err := Tree(pid)
	if err != nil {
		return false, false, err
	}
	return AllAtRest(tree)
}

// AllAtRest is AtRest of these processes.
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
