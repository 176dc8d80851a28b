package postgres

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
)

// The rows of a run are removed, a user's stay, and the tables go with the last row.
func TestClean(t *testing.T) {
	const mark = "picklock-abcdefghij-"
	s := startPostgres(t)
	ctx := contract.Within(t, time.Minute)
	o := clients.Options{Servers: contract.Addrs(s), Client: "c1", TTL: time.Minute, Log: slog.New(slog.DiscardHandler)}
	clean := func(want int) {
		t.Helper()
		if n, err := service().Clean(ctx, o, mark); n != want || err != nil {
			t.Errorf("%d removed, %v, want %d", n, err, want)
		}
	}
	clean(0) // there are no tables
	for _, name := range []string{"postgres-row", "postgres-table"} {
		l, err := named(name).Open(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Acquire(ctx, mark+"k0"); err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	ask(t, s[0], `INSERT INTO picklock_row VALUES ($1), ('app/' || $1), ('other')`, "my-"+mark+"k0")
	if marks, err := service().Marks(ctx, o); err != nil || !slices.Equal(marks, []string{mark}) {
		t.Errorf("marks are %q, %v", marks, err)
	}
	clean(2)
	if rows := ask(t, s[0], `SELECT string_agg(key, ' ' ORDER BY key COLLATE "C") FROM picklock_row`); rows != "app/my-"+mark+"k0 my-"+mark+"k0 other" {
		t.Errorf("left are %q", rows)
	}
	ask(t, s[0], `DELETE FROM picklock_row`)
	clean(0)
	if tables := ask(t, s[0], `SELECT coalesce(string_agg(relname, ' '), '') FROM pg_class WHERE strpos(relname, 'picklock') = 1`); strings.TrimSpace(tables) != "" {
		t.Errorf("tables that no run uses: %q", tables)
	}
}
