package postgres

import (
	"github.com/picklock/picklock/clients"
)

func pgbouncerInfo() clients.Info {
	return clients.Info{
		Name:    "pgbouncer",
		About:   "Postgres behind PgBouncer in transaction mode: pg_advisory_lock, held by a session that the next client gets too",
		Cluster: "pgbouncer",
		Fencing: true,
		Naive:   true,
		Inspect: lookPgAdvisory,
		Open: openPostgres("pgbouncer", true, func(p *postgres) (clients.Lock, error) {
			return pgSessionLock{p}, nil
		}),
	}
}
