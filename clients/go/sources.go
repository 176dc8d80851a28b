// Package golang has the sources of the clients in Go: one program a library over the package adapter.
// They are compiled when they are first used, with the version of the library that is asked for, and
// are no part of picklock itself. It knows nothing of the rest of picklock.
package golang

import "embed"

// Sources are the files as they are in this folder. A go.mod would make a library's folder a module
// apart, which cannot be embedded: it is called go.mod.tmpl.
//
//go:embed adapter/*.go etcdlock/*.go */go.mod.tmpl */go.sum */main.go
var Sources embed.FS
