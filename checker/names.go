package checker

import "github.com/picklock/picklock/history"

// names finds processes by their names, and grants by their ids.
type names struct {
	history.Table[proc, *proc, *grant]
	duplicates map[string]bool // ids that were given twice: nothing can be named by them
}

// find returns the grant that was given this id last; p is the process that the id
// most likely begins with.
func (s *names) find(id string, p *proc) *grant {
	if g, _ := s.Grant(id, p); g != nil {
		return *g
	}
	return nil
}

// add files a grant under its id.
func (s *names) add(g *grant, p *proc) {
	if s.find(g.id, p) != nil {
		if s.duplicates == nil {
			s.duplicates = map[string]bool{}
		}
		s.duplicates[g.id] = true
	}
	s.AddGrant(g.id, p, g)
}

// ambiguous says that an id names more than one grant.
func (s *names) ambiguous(id string) bool { return len(s.duplicates) > 0 && s.duplicates[id] }

// isClient says that the process has events of its own.
func (s *names) isClient(name string) bool {
	p := s.Known(name)
	return p != nil && p.client
}
