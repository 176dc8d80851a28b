package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
)

// leftThere is what is to be removed from servers that run already.
type leftThere struct {
	cluster, lock string
	marks         []string
	all           bool
}

// cleanServedWithin bounds all that is asked of the servers.
const cleanServedWithin = 10 * time.Minute

func (s *leftThere) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.cluster, "cluster", "", "use the servers in this file, which run already, in place of --endpoint")
	f.StringVar(&s.lock, "lock", "", "with --endpoint: remove names of this lock; for an exec: lock use --clean-as")
	f.StringSliceVar(&s.marks, "mark", nil, "with --endpoint: remove names with these marks, separated by commas, which the runs printed (picklock-, ten letters and digits, and a dash)")
	f.BoolVar(&s.all, "all-marks", false, "with --endpoint: remove names with the mark of any run, also of one that still runs")
	endpointFlags(c, &s.cluster)
}

func (s *leftThere) asked() bool {
	return s.cluster != "" || s.lock != "" || len(s.marks) > 0 || s.all
}

// service is that of the lock, or the one that the user names.
func (s *leftThere) service() (*clients.Service, error) {
	as := os.Getenv(compose.CleanVariable)
	if s.lock == "" || strings.HasPrefix(s.lock, clients.ExecPrefix) {
		if as == "" {
			return nil, errors.New("it needs the lock that the runs were of, with --lock, or the service of an exec: lock, with --clean-as")
		}
		return lockTable.ForForeignKeys(as)
	}
	info, err := lockTable.Lookup(s.lock)
	if err == nil && info.Service == nil {
		err = fmt.Errorf("lock %s leaves nothing on servers that run already: it is not made for them", info.Name)
	}
	return info.Service, err
}

// clean removes what runs with these marks have left, and says how much it was.
func (s *leftThere) clean(ctx context.Context) ([]string, error) {
	service, err := s.service()
	if err != nil {
		return nil, usage(err)
	}
	if (len(s.marks) > 0) == s.all {
		return nil, usage(errors.New("it needs the --mark of a run, which the run has said, or else --all-marks"))
	}
	for i, mark := range s.marks {
		mark = strings.TrimSuffix(mark, "-") + "-"
		if clients.MarkIn(mark) != mark {
			return nil, usage(fmt.Errorf("--mark %s: want picklock- and ten letters and digits", s.marks[i]))
		}
		s.marks[i] = mark
	}
	def, err := compose.Load(ctx, s.cluster)
	if err != nil || len(def.External()) == 0 {
		return nil, usage(errors.Join(errors.New("it needs the servers, with --endpoint HOST:PORT"), err))
	}
	ctx, cancel := context.WithTimeout(ctx, cleanServedWithin)
	defer cancel()
	o := clients.Options{
		Servers: def.External(), External: &clients.External{Addresses: def.External(), Access: def.Access},
		Client: "picklock", Log: slog.New(slog.DiscardHandler),
	}
	if s.all {
		if service.Foreign() {
			return nil, usage(errors.New("what exec: locks leave is found by its --mark alone"))
		}
		if s.marks, err = service.Marks(ctx, o); err != nil {
			return nil, err
		}
	}
	var removed []string
	for _, mark := range s.marks {
		n, err := service.Clean(ctx, o, mark)
		if n > 0 {
			removed = append(removed, fmt.Sprintf("%d with %s from %s", n, mark, strings.Join(def.External(), ", ")))
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}
