package clients

import (
	"maps"
	"testing"
)

// Other settings are those that some users choose, of options that nobody has given.
func TestOther(t *testing.T) {
	i := Info{Options: []Option{{Name: "nested", Default: "1", Also: "2"}, {Name: "sleep", Default: "10"}, {Name: "watchdog", Default: "yes", Also: "no", Unrenewed: true}, {Name: "by", Default: "row", Also: "table"}}}
	type settings = map[string]string
	for name, tc := range map[string]struct{ given, renewed, unrenewed settings }{
		"none given":         {nil, settings{"nested": "2", "by": "table"}, settings{"nested": "2", "by": "table", "watchdog": "no"}},
		"one given":          {settings{"nested": "1"}, settings{"by": "table"}, settings{"by": "table", "watchdog": "no"}},
		"another one given":  {settings{"sleep": "5"}, settings{"nested": "2", "by": "table"}, settings{"nested": "2", "by": "table", "watchdog": "no"}},
		"no watchdog":        {settings{"watchdog": "no"}, settings{"nested": "2", "by": "table"}, nil},
		"all others given":   {settings{"nested": "2", "by": "row"}, nil, settings{"watchdog": "no"}},
		"all of these given": {settings{"nested": "2", "by": "row", "watchdog": "yes"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			renewed, unrenewed := i.Other(tc.given)
			if !maps.Equal(renewed, tc.renewed) || !maps.Equal(unrenewed, tc.unrenewed) {
				t.Errorf("%v, and %v", renewed, unrenewed)
			}
		})
	}
}
