// Package python has the sources of the clients in Python: one module and its requirements a library over picklock.py.
// It knows nothing of the rest of picklock.
package python

import "embed"

// Sources are the files as they are in this folder.
//
//go:embed pyproject.toml *.py requirements/*.txt
var Sources embed.FS
