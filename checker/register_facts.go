package checker

// registerFacts is what comes of comparing the register's log with what its clients saw.
// Where there is no log it is empty.
type registerFacts struct {
	overwritten  map[*lock][]overwrite
	contradicted map[*lock][]contradiction
	lost         int // acknowledged operations at the log's end without an effect
	acknowledged int // adds
	lostUpdates  int // of those, gone from the final value
}

func newRegisterFacts(log *registerLog, locks []*lock, ids *names) registerFacts {
	f := registerFacts{overwritten: map[*lock][]overwrite{}, contradicted: map[*lock][]contradiction{}}
	if log == nil {
		return f
	}
	for _, k := range locks {
		if found := f.overwrites(k, log.keys[k.name]); len(found) > 0 {
			f.overwritten[k] = found
		}
		if found := f.contradictions(log, k, ids); len(found) > 0 {
			f.contradicted[k] = found
		}
	}
	return f
}
