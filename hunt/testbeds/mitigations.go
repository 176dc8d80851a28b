package testbeds

import (
	"context"
	"maps"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/hunt"
)

// Mitigations are what might help, of what can be done with the lock: the fencing modes of the
// resource that it gives tokens for, and the values of its options that make it safer.
func (p *Pool) Mitigations(info clients.Info) hunt.FinishOptions {
	o := hunt.FinishOptions{Vary: p.vary}
	if info.Fencing || info.Declares {
		for _, d := range []string{"write", "read-write"} {
			if d != p.o.Settings.Fencing {
				o.Fencing = append(o.Fencing, d)
			}
		}
	}
	for _, s := range info.Mitigations(p.o.Extra, p.target.TTL) {
		o.Options = append(o.Options, hunt.Setting(s))
	}
	return o
}

// vary gives a runner on which something is different.
func (p *Pool) vary(ctx context.Context, v hunt.Variation) (hunt.Runner, func() error, error) {
	s, extra := p.o.Settings, maps.Clone(p.o.Extra)
	s.Fencing, s.TTL = v.Fencing, v.TTL
	if v.Option.Name != "" {
		if extra == nil {
			extra = map[string]string{}
		}
		extra[v.Option.Name] = v.Option.Value
	}
	l, err := p.open(ctx, s, extra)
	if err != nil {
		return nil, nil, err
	}
	return l, l.close, nil
}
