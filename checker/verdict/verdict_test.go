package verdict

import (
	"encoding/json"
	"testing"
)

// TestValidityJSON: true, false and "unknown" are read as they were written, and
// what is neither is an error.
func TestValidityJSON(t *testing.T) {
	for v, text := range map[Validity]string{True: "true", False: "false", Unknown: `"unknown"`} {
		b, err := json.Marshal(v)
		if err != nil || string(b) != text {
			t.Errorf("%v is written as %s (%v), want %s", v, b, err, text)
		}
		got := True
		if v == True {
			got = False
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != v {
			t.Errorf("%s is read as %v (%v)", text, got, err)
		}
	}
	for _, text := range []string{"1", "{}", "[true]"} {
		if got := True; json.Unmarshal([]byte(text), &got) == nil {
			t.Errorf("%s is read as %v", text, got)
		}
	}
}
