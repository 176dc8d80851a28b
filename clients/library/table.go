package library

import (
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// lines is the table.
func lines() []line {
	var out []line
	for _, l := range [][]line{javaLines(), pythonLines(), nodeLines(), goLines(), rustLines()} {
		out = append(out, l...)
	}
	return out
}

// number is the Check of an option that the library takes as a number.
var number = adapter.Checks(adapter.ParseNumber)

// listenerOption is that of ZooKeeper's libraries.
func listenerOption() clients.Option {
	return clients.Option{
		Name: "listener", About: "on what a holder counts its lock as lost: suspended (the connection is down), lost (the session has ended), none (never)",
		Default: "suspended", Safer: []string{"suspended"}, Check: adapter.Checks(adapter.OneOf("suspended", "lost", "none")),
	}
}
