package checker

import (
	"os"
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

// TestTables: what the verdict's table names, in its order, is what is looked for.
func TestTables(t *testing.T) {
	list, kinds := finders(), Anomalies()
	if len(list) != len(kinds) {
		t.Fatalf("%d finders, %d anomalies", len(list), len(kinds))
	}
	for i, f := range list {
		if f.anomaly != kinds[i].Name || f.find == nil {
			t.Errorf("finder %d is %q, the verdict's table has %q", i, f.anomaly, kinds[i].Name)
		}
	}
}

// TestEmpty: no history is no proof of anything.
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
