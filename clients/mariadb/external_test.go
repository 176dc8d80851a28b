package mariadb

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
)

// The rows of a run are removed, and a user's stay.
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
	var left string
	if err := db.QueryRowContext(ctx, "SELECT GROUP_CONCAT(name) FROM picklock.lease").Scan(&left); err != nil || left != "my-"+mark+"k0" {
		t.Errorf("left are %q, %v", left, err)
	}
}
