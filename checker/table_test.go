package checker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDocs: every anomaly of the table is explained in docs/reference/anomalies.md, belongs
// to a property, and has its own name.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/reference/anomalies.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range Anomalies() {
		if !strings.Contains(string(doc), "**`"+a.Name+"`**") {
			t.Errorf("docs/reference/anomalies.md does not explain %s", a.Name)
		}
		if !slices.Contains(Properties, a.Property) || a.Doc == "" || seen[a.Name] {
			t.Errorf("bad entry %+v", a)
		}
		seen[a.Name] = true
	}
}

// TestTable: what the table names is what is looked for; it goes by property; what leads to an
// anomaly is deeper; the corpus has a history of each that breaks and one that almost does.
func TestTable(t *testing.T) {
	kinds := Anomalies()
	if len(finders) != len(kinds) {
		t.Errorf("%d finders, %d anomalies", len(finders), len(kinds))
	}
	depth := map[string]int{}
	for i, a := range kinds {
		if finders[a.Name] == nil {
			t.Errorf("nothing looks for %s", a.Name)
		}
		if i > 0 && slices.Index(Properties, a.Property) < slices.Index(Properties, kinds[i-1].Property) {
			t.Errorf("%s stands among the anomalies of another property", a.Name)
		}
		depth[a.Name] = a.Depth
		for _, suffix := range []string{"*", "*-almost"} {
			if files, err := filepath.Glob("testdata/" + a.Name + suffix + ".txt"); err != nil || len(files) == 0 && (suffix == "*" || !withoutAlmost[a.Name]) {
				t.Errorf("no history %s%s in testdata: %v", a.Name, suffix, err)
			}
		}
	}
	for _, a := range kinds {
		origins := a.From
		for _, c := range a.Causes {
			origins = append(slices.Clone(origins), c.From...)
		}
		for _, o := range origins {
			for _, from := range o.Anomalies {
				if depth[from] == 0 || depth[from] >= depth[a.Name] {
					t.Errorf("%s comes from %s, which is no deeper", a.Name, from)
				}
			}
		}
	}
}

// withoutAlmost are the anomalies of which there is no almost: two tokens are equal or not.
var withoutAlmost = map[string]bool{"token-reuse": true}

// TestEmpty: no history is no evidence of anything.
func TestEmpty(t *testing.T) {
	v := Check(Input{})
	if v.Valid != Unknown || len(v.Anomalies) != 0 || !strings.Contains(v.Why, "never granted") {
		t.Errorf("valid %v, why %q", v.Valid, v.Why)
	}
	for name, p := range v.Properties {
		if p.Valid != Unknown || p.Why == "" {
			t.Errorf("%s: valid %v, why %q", name, p.Valid, p.Why)
		}
	}
}
