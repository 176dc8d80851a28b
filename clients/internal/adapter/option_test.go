package adapter

import (
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

// TestOptionsAreHeeded: a value that the check passes is the one that the lock uses.
func TestOptionsAreHeeded(t *testing.T) {
	o := clients.Options{TTL: time.Second, Extra: map[string]string{"a": "3s", "b": "no", "c": "4"}}
	if d, err := Read(o, "a", time.Second, ParseLength); d != 3*time.Second || err != nil {
		t.Errorf("a length: %v, %v", d, err)
	}
	if yes, err := Read(o, "b", true, ParseSwitch); yes || err != nil {
		t.Errorf("a switch: %v, %v", yes, err)
	}
	if n, err := Read(o, "d", 7, ParseCount); n != 7 || err != nil {
		t.Errorf("an option that is not given: %v, %v; want the default", n, err)
	}
	if _, err := Read(o, "c", time.Second, ParseLength); err == nil {
		t.Error("4 is taken for a length of time")
	}
}
