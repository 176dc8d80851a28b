package mariadb

import (
	"context"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "mariadb", Stores: stores}
}

// stores is the table of leases, which stays when it is empty: the database may be one of the user's. The other lock leaves
// nothing when its connections have ended.
func stores(ctx context.Context, o clients.Options, do func(clients.Store) error) error {
	db, err := connect(o, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return do(clients.Store{
		Each: func(ctx context.Context, prefix string, do func(string) error) error {
			rows, err := db.QueryContext(ctx, "SELECT name FROM picklock.lease WHERE LEFT(name, LENGTH(?)) = ?", prefix, prefix)
			if undefined(err) {
				return nil
			}
			if err != nil {
				return err
			}
			defer rows.Close()
			var names []string
			for rows.Next() {
				var name string
				if err := rows.Scan(&name); err != nil {
					return err
				}
				names = append(names, name)
			}
			err = rows.Err()
			for _, name := range names {
				if err == nil {
					err = do(name)
				}
			}
			return err
		},
		Delete: func(ctx context.Context, name string) (bool, error) {
			done, err := db.ExecContext(ctx, "DELETE FROM picklock.lease WHERE name = ?", name)
			if undefined(err) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			n, err := done.RowsAffected()
			return n > 0, err
		},
	})
}
