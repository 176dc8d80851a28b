// Package node has the sources of the clients in Node: one package a library over adapter.mjs.
// It knows nothing of the rest of picklock.
package node

import "embed"

// Sources are the files as they are in this folder.
//
//go:embed adapter.mjs */package.json */package-lock.json */*.mjs
var Sources embed.FS
