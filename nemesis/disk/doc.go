// Package disk is a disk that knows what was synced: a file system over an ordinary
// folder that remembers how to take back all that its users have written and not
// synced, and that can hang, be full or fail on request. It does not depend on servers
// or faults; docs/internals/disk.md says what it models.
package disk
