package main

import "github.com/picklock/picklock/clients/all"

// What this program knows; everything below is handed it from here.
var (
	lockTable = all.Locks()
	backends  = all.Backends()
)
