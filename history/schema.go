package history

import _ "embed"

// Schema is the JSON schema of the lines of history.jsonl (#/$defs/event) and
// register.jsonl (#/$defs/effect). docs/reference/history.md says what no schema can.
//
//go:embed schema.json
var Schema string
