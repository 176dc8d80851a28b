package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// askWithin bounds one question to a server.
const askWithin = 2 * time.Second

// Leader implements Cluster.
func (m *Members) Leader(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	servers := m.def.Servers()
	votes := make([]string, len(servers))
	none := true
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, s := range servers {
		if s.Spec.Leader == nil {
			continue
		}
		none = false
		n, err := m.Find(s.Name)
		if err != nil {
			return "", err
		}
		wg.Go(func() {
			text, yes, _ := m.reach.Ask(ctx, n, s.Spec.Leader) // one that does not answer does not lead
			switch {
			case yes && s.Spec.Leader.Names:
				votes[i] = m.named(text)
			case yes:
				votes[i] = s.Name
			}
		})
	}
	if none && len(servers) == 1 {
		return servers[0].Name, nil
	}
	if none {
		return "", fmt.Errorf("no server of the cluster %s leads the others", m.def.Name)
	}
	wg.Wait()
	return most(votes), nil
}

// most is the name with the most votes, of equal ones the first; "" counts for none.
func most(votes []string) string {
	best, n := "", 0
	for _, name := range votes {
		if c := count(votes, name); name != "" && c > n {
			best, n = name, c
		}
	}
	return best
}

func count(votes []string, name string) (n int) {
	for _, v := range votes {
		if v == name {
			n++
		}
	}
	return n
}

// named is the server whose address and port are in text; "" if none's are.
func (m *Members) named(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !strings.ContainsRune(".:", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, n := range m.Nodes() {
		if n.Role == Server && slices.Contains(words, n.Addr) && slices.Contains(words, strconv.Itoa(n.Port)) {
			return n.Name
		}
	}
	return ""
}

// Takeover implements Cluster.
func (m *Members) Takeover() time.Duration {
	longest := time.Duration(0)
	for _, s := range m.def.Servers() {
		d, _ := length("takeover", s.Spec.Takeover) // checked when the file was read
		longest = max(longest, d)
	}
	return longest
}

// Promote implements Cluster. A server that is down or does not answer is left as it is.
func (m *Members) Promote(ctx context.Context, name string) error {
	n, s, err := m.server(name)
	if err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	if s.Spec.Promote == nil {
		return fmt.Errorf("promote %s: its Compose file has no x-picklock.promote: %w", name, errors.ErrUnsupported)
	}
	if err := m.assign(ctx, n, s.Spec.Promote); err != nil {
		return fmt.Errorf("promote %s: %w", name, err)
	}
	m.mu.Lock()
	m.promoted = name
	m.mu.Unlock()
	for _, s := range m.def.Servers() {
		other, err := m.Find(s.Name)
		if err != nil || s.Name == name || s.Spec.Follow == nil || other.PID == 0 {
			continue
		}
		_ = m.assign(ctx, other, s.Spec.follow(n)) // a server that is cut off keeps its role, as in any takeover
	}
	return nil
}

// follow asks a server to become the replica of another.
func (s Spec) follow(leader Node) *Probe {
	p := *s.Follow
	p.Send = strings.NewReplacer("{addr}", leader.Addr, "{port}", strconv.Itoa(leader.Port)).Replace(p.Send)
	return &p
}

// Recall gives a server that has been started again the role of the last failover, if the
// server forgets it: two that each follow the other would never serve again. It also tells the server whether it refuses
// writes. It asks until the server does it, ctx ends, or gone is closed.
func (m *Members) Recall(ctx context.Context, name string, gone <-chan struct{}) error {
	if err := m.recallRefusal(ctx, name, gone); err != nil {
		return err
	}
	n, s, err := m.server(name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	promoted := m.promoted
	m.mu.Unlock()
	if promoted == "" || !s.Spec.Forgets || s.Spec.Promote == nil || s.Spec.Follow == nil {
		return nil
	}
	role := s.Spec.Promote
	if promoted != name {
		leader, err := m.Find(promoted)
		if err != nil {
			return err
		}
		role = s.Spec.follow(leader)
	}
	if err := m.askUntil(ctx, n, role, gone); err != nil {
		return fmt.Errorf("give %s its role since %s was promoted: %w", name, promoted, err)
	}
	return nil
}

// askUntil asks a server that is starting until it answers as expected, ctx ends, or gone is closed.
func (m *Members) askUntil(ctx context.Context, n Node, p *Probe, gone <-chan struct{}) error {
	return p.AwaitBy(ctx, n.HostPort(), gone, func(ctx context.Context) (bool, error) {
		now, err := m.Find(n.Name)
		if err != nil {
			return false, err
		}
		_, ok, err := m.reach.Ask(ctx, now, p)
		return ok, err
	})
}

// Leads implements Cluster.
func (m *Members) Leads(ctx context.Context, name string) (bool, error) {
	n, s, err := m.server(name)
	if err != nil {
		return false, err
	}
	if s.Spec.Leader == nil || s.Spec.Promote == nil {
		return false, fmt.Errorf("%s: its Compose file has no x-picklock.promote: %w", name, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	_, yes, err := m.reach.Ask(ctx, n, s.Spec.Leader)
	return yes, err
}

func (m *Members) assign(ctx context.Context, n Node, p *Probe) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	text, ok, err := m.reach.Ask(ctx, n, p)
	switch {
	case err != nil || ok:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("it has answered %q so far, and not as %q: %w", text, p.Expect, ctx.Err())
	}
	return fmt.Errorf("it does not answer as %q, but %q", p.Expect, text)
}
