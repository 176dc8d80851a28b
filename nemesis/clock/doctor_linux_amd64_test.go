package clock

import "testing"

func TestSupportedHere(t *testing.T) {
	if err := Supported(); err != nil {
		t.Fatal(err)
	}
}
