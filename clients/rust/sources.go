// Package rust has the sources of the clients in Rust: one crate a library over the crate adapter.
// It knows nothing of the rest of picklock.
package rust

import "embed"

// Sources are the files as they are in this folder.
//
//go:embed */Cargo.toml */Cargo.lock */src/*.rs
var Sources embed.FS
