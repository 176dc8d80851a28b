package clients

import (
	"maps"
	"testing"
)

// Other settings are those that some users choose, of options that nobody has given.
func TestOther(t *testing.T) {
	i := Info{Options: []Option{{Name: "nested", Default: "1", Also: "2"}, {Name: "sleep", Default: "10"}, {Name: "by", Default: "row", Also: "table"}}}
	for name, tc := range map[string]struct{ given, want map[string]string }{
		"none given":         {nil, map[string]string{"nested": "2", "by": "table"}},
		"one given":          {map[string]string{"nested": "1"}, map[string]string{"by": "table"}},
		"another one given":  {map[string]string{"sleep": "5"}, map[string]string{"nested": "2", "by": "table"}},
		"all of these given": {map[string]string{"nested": "2", "by": "row"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := i.Other(tc.given); !maps.Equal(got, tc.want) {
				t.Errorf("%v", got)
			}
		})
	}
}
