// Package all names every lock and every kind of protected resource that picklock
// brings along. It knows the services' packages and nothing of how they work. Only
// programs import it: what finds a lock is handed a table.
package all

import (
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
)

// Locks is the table of all locks, and of programs of the user's ("exec:COMMAND").
func Locks() *clients.Table { return clients.Builtin() }

// Backends is what the protected resource can be made of.
func Backends() register.Backends { return register.All() }
