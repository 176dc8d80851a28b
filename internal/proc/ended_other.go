//go:build !linux

package proc

// AwaitEnd does nothing here: nothing traces a child.
func AwaitEnd(int) error { return nil }
