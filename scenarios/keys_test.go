package scenarios

import "testing"

// A program says of each acquire which of the two keys it is for.
func TestKeys(t *testing.T) {
	for text, want := range map[string]struct {
		keys    int
		written string
	}{
		"acquire, write":                  {1, "acquire, write"},
		"acquire key 1":                   {1, "acquire"},
		"acquire key 1 within 0.3 leases": {1, "acquire within 0.3 leases"},
		"acquire, acquire key 2":          {2, "acquire, acquire key 2"},
		"acquire key 2 within 500ms":      {2, "acquire key 2 within 500ms"},
	} {
		p, err := ParseProgram(text, []string{"A"})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s := &Scenario{Clients: []string{"A"}, Programs: map[string]Program{"A": p}}
		if s.Keys() != want.keys || p.String() != want.written {
			t.Errorf("%s: %d keys, written %q", text, s.Keys(), p)
		}
	}
}
