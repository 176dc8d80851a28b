package scenarios

import (
	"context"
	"fmt"
	"slices"
)

// The servers of a cluster by their role when the run begins: which one leads the others changes.
const (
	Leader    = "leader"
	Follower  = "follower"  // the first that does not lead
	Followers = "followers" // all that do not lead
)

// IsRole says that a name stands for servers by their role.
func IsRole(name string) bool { return name == Leader || name == Follower || name == Followers }

func (f *Fault) hasRole() bool {
	return slices.ContainsFunc(f.Nodes, IsRole) || slices.ContainsFunc(f.Peers, IsRole)
}

// findLeader asks who leads when the run begins, if a fault is of a role: to ask at its trigger would
// make it late.
func (r *Runner) findLeader(ctx context.Context) {
	if slices.ContainsFunc(r.track, func(st *faultState) bool { return st.Fault.hasRole() }) {
		r.leader, r.leaderErr = r.stage.Leader(ctx)
	}
}

// roles says how the nodes of a fault are to be named: the roles among them as servers.
func (r *Runner) roles(f *Fault) (func([]string) []string, error) {
	switch {
	case !f.hasRole():
		return r.resolve, nil
	case r.leaderErr != nil:
		return nil, fmt.Errorf("find the leader: %w", r.leaderErr)
	case r.leader == "":
		return nil, fmt.Errorf("%s: no server led the others when the run began", f.Text)
	}
	followers := slices.DeleteFunc(slices.Clone(r.stage.Servers()), func(s string) bool { return s == r.leader })
	return func(nodes []string) []string {
		var out []string
		for _, n := range r.resolve(nodes) {
			switch n {
			case Leader:
				out = append(out, r.leader)
			case Follower:
				out = append(out, followers[:min(1, len(followers))]...)
			case Followers:
				out = append(out, followers...)
			default:
				out = append(out, n)
			}
		}
		return out
	}, nil
}
