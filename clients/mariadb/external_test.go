package mariadb

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
)

// The rows of a run are removed, a user's stay, and the database goes with the last row.
func TestClean(t *testing.T) {
	t.Parallel()
	const mark = "picklock-abcdefghij-"
	ctx := contract.Within(t, time.Minute)
	o := clients.Options{Servers: contract.Addrs(startServer(t)), Client: "c1", TTL: time.Minute, Log: slog.New(slog.DiscardHandler)}
	clean := func(want int) {
		t.Helper()
		if n, err := service().Clean(ctx, o, mark); n != want || err != nil {
			t.Errorf("%d removed, %v, want %d", n, err, want)
		}
	}
	clean(0) // there is no table
	l := contract.Open(t, contract.Named(Locks(), "mariadb-table"), "c1", o.Servers, o.TTL)
	for _, key := range []string{mark + "k0", mark + "K0", "my-" + mark + "k0"} {
		if _, err := l.Acquire(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	if marks, err := service().Marks(ctx, o); err != nil || !slices.Equal(marks, []string{mark}) {
		t.Errorf("marks are %q, %v", marks, err)
	}
	clean(2)
	db, err := connect(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := value(ctx, t, db, "SELECT GROUP_CONCAT(name) FROM picklock.lease"); got != "my-"+mark+"k0" {
		t.Errorf("left are %q", got)
	}
	if _, err := db.ExecContext(ctx, "DELETE FROM picklock.lease"); err != nil {
		t.Fatal(err)
	}
	clean(0)
	if got := value(ctx, t, db, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'picklock'"); got != "0" {
		t.Error("the database is left")
	}
}

func value(ctx context.Context, t *testing.T, db *sql.DB, query string) (text string) {
	t.Helper()
	if err := db.QueryRowContext(ctx, query).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}
