package fleet

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/scenarios"
)

// ImageVariable names the environment variable from which Compose files read the image of a service: PICKLOCK_REDIS_IMAGE.
func ImageVariable(service string) string {
	return "PICKLOCK_" + strings.ToUpper(strings.ReplaceAll(service, "-", "_")) + "_IMAGE"
}

// checkImages refuses an image that no cluster of the jobs reads: every job with it would run on the same servers as without.
func checkImages(ctx context.Context, table *clients.Table, jobs []Job) error {
	unread := map[string]bool{}
	var sources [][]byte
	for _, j := range jobs {
		for service := range j.Images {
			unread[service] = true
		}
	}
	if len(unread) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, j := range jobs {
		clusters, err := j.clusters(table)
		if err != nil {
			return err
		}
		for _, c := range clusters {
			names[c] = true
		}
	}
	delete(names, "") // of a lock without servers
	for name := range names {
		d, err := compose.Load(ctx, name)
		if err != nil {
			return err
		}
		sources = append(sources, d.Source)
	}
	for _, service := range slices.Sorted(maps.Keys(unread)) {
		reads := func(source []byte) bool { return bytes.Contains(source, []byte("${"+ImageVariable(service))) }
		if !slices.ContainsFunc(sources, reads) {
			return fmt.Errorf("images: no cluster of the task has an image %s to choose: its Compose file would have to name ${%s}", service, ImageVariable(service))
		}
	}
	return nil
}

// clusters are those that a job's locks and scenarios run on.
func (j Job) clusters(table *clients.Table) ([]string, error) {
	if j.Cluster != "" {
		return []string{j.Cluster}, nil
	}
	var locks, out []string
	if j.Lock != "" {
		locks = append(locks, j.Lock)
	}
	for _, c := range j.Cells {
		s, err := scenarios.Parse(c.Scenario+".yaml", []byte(c.Text))
		if err != nil {
			return nil, err
		}
		if s.Cluster != "" {
			out = append(out, s.Cluster)
			continue
		}
		locks = append(locks, c.Lock)
	}
	slices.Sort(locks)
	for _, lock := range slices.Compact(locks) {
		info, err := table.Lookup(lock)
		if err != nil {
			return nil, err
		}
		out = append(out, info.Cluster)
	}
	return out, nil
}
