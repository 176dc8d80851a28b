package compose

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Healthy implements Cluster: it asks every server what it was asked until it was ready.
func (m *Members) Healthy(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range m.def.Members() {
		g.Go(func() error {
			n, err := m.Find(s.Name)
			if err != nil {
				return err
			}
			if n.PID == 0 {
				return fmt.Errorf("%s does not run", s.Name)
			}
			if _, ok, err := m.reach.Ask(ctx, n, s.Spec.Ready); err != nil || !ok {
				return fmt.Errorf("%s does not answer as it should: %w", s.Name, orNotReady(err))
			}
			return nil
		})
	}
	return g.Wait()
}

func orNotReady(err error) error {
	if err == nil {
		return fmt.Errorf("it is not ready")
	}
	return err
}
