package compose

import (
	"context"
	"errors"
	"fmt"
)

// Refusal is how a server is made to refuse writes, as it does when its disk is full or when it may only be read, and
// to take them again.
type Refusal struct {
	On  *Probe `mapstructure:"on"`
	Off *Probe `mapstructure:"off"`
	// Is asks a server whether it refuses writes.
	Is *Probe `mapstructure:"is"`
}

// check says what a refusal lacks.
func (r *Refusal) check() error {
	if r != nil && (r.On == nil || r.Off == nil || r.Is == nil) {
		return errors.New("x-picklock: refuse: want on, off and is: what makes the server refuse writes, what ends that, and what asks whether it refuses")
	}
	return nil
}

// probes are those that there are.
func (r *Refusal) probes() []*Probe {
	if r == nil {
		return nil
	}
	return []*Probe{r.On, r.Off, r.Is}
}

// Refuse implements Cluster. Refusals may overlap: a server takes writes again when the last one has ended.
func (m *Members) Refuse(ctx context.Context, name string, on bool) error {
	n, s, err := m.server(name)
	if err != nil {
		return fmt.Errorf("refuse writes: %w", err)
	}
	r := s.Spec.Refuse
	if r == nil {
		return fmt.Errorf("%s: its Compose file has no x-picklock.refuse: %w", name, errors.ErrUnsupported)
	}
	m.mu.Lock()
	if on {
		m.refusals[name]++
	} else {
		m.refusals[name] = max(0, m.refusals[name]-1)
	}
	left := m.refusals[name]
	m.mu.Unlock()
	switch {
	case on:
		if err := m.assign(ctx, n, r.On); err != nil {
			return fmt.Errorf("have %s refuse writes: %w", name, err)
		}
	case left == 0 && n.PID != 0: // one that is down is told so when it is started again
		// Another fault may have stopped it: it answers when that is over, at the latest.
		err := r.Off.AwaitBy(ctx, n.HostPort(), nil, func(ctx context.Context) (bool, error) {
			now, err := m.Find(name)
			if err != nil || now.PID == 0 { // told when it is started again
				return err == nil, err
			}
			_, ok, err := m.reach.Ask(ctx, now, r.Off)
			return ok, err
		})
		if err != nil {
			return fmt.Errorf("have %s take writes again: %w", name, err)
		}
	}
	return nil
}

// CanRefuse implements Cluster.
func (m *Members) CanRefuse(name string) bool {
	_, s, err := m.server(name)
	return err == nil && s.Spec.Refuse != nil
}

// Refuses implements Cluster.
func (m *Members) Refuses(ctx context.Context, name string) (bool, error) {
	n, s, err := m.server(name)
	if err != nil {
		return false, err
	}
	if s.Spec.Refuse == nil {
		return false, fmt.Errorf("%s: its Compose file has no x-picklock.refuse: %w", name, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	_, yes, err := m.reach.Ask(ctx, n, s.Spec.Refuse.Is)
	return yes, err
}

// recallRefusal tells a server that has been started again whether it refuses writes: it may have forgotten a refusal that
// goes on, or kept on its disk one that has ended.
func (m *Members) recallRefusal(ctx context.Context, name string, gone <-chan struct{}) error {
	m.mu.Lock()
	left, told := m.refusals[name]
	m.mu.Unlock()
	if !told {
		return nil
	}
	n, s, err := m.server(name)
	if err != nil {
		return err
	}
	p := s.Spec.Refuse.Off
	if left > 0 {
		p = s.Spec.Refuse.On
	}
	if err := m.askUntil(ctx, n, p, gone); err != nil {
		return fmt.Errorf("tell %s whether it refuses writes: %w", name, err)
	}
	return nil
}
