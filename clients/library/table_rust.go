package library

import "time"

func rustLines() []line {
	return []line{{
		name: "rslock", about: "rslock (Redlock) over independent Redis nodes, all defaults",
		language: rustLanguage, folder: "rslock", program: "rslock", library: "rslock", version: "0.10.0", cluster: "redlock",
		minTTL: 10 * time.Millisecond, promises: []string{"https://docs.rs/rslock/0.10.0/rslock/"},
	}}
}
