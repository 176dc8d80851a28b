package history

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestSchema: the schema, docs/reference/history.md and the records have the same fields, of the
// same types.
func TestSchema(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Required   []string
			Properties map[string]struct{ Type, Description string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(Schema), &schema); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/reference/history.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## history.jsonl\n")
	events, rest, _ := strings.Cut(rest, "\n## Order\n")
	_, effects, _ := strings.Cut(rest, "\n## register.jsonl\n")
	effects, _, _ = strings.Cut(effects, "\n## What is refused\n")
	types := map[reflect.Kind]string{reflect.Int64: "integer", reflect.String: "string", reflect.Bool: "boolean", reflect.Slice: "array"}
	for name, of := range map[string]struct {
		record any
		page   string
	}{"event": {Event{}, events}, "effect": {Effect{}, effects}} {
		def := schema.Defs[name]
		fields := reflect.TypeOf(of.record)
		if fields.NumField() != len(def.Properties) {
			t.Errorf("%s: %d fields, %d in the schema", name, fields.NumField(), len(def.Properties))
		}
		// The first cells of the first table, up to the table's end.
		_, table, _ := strings.Cut(of.page, "|---|")
		table, _, _ = strings.Cut(table, "\n\n")
		var reported []string
		for _, row := range strings.Split(table, "\n")[1:] {
			cell, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
			for _, f := range strings.Split(cell, ",") {
				reported = append(reported, strings.Trim(f, " `"))
			}
		}
		if len(reported) != fields.NumField() {
			t.Errorf("%s: %d fields, docs/reference/history.md has %v", name, fields.NumField(), reported)
		}
		for i := range fields.NumField() {
			f := fields.Field(i)
			tag, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
			p, ok := def.Properties[tag]
			if !ok || p.Type != types[f.Type.Kind()] || p.Description == "" {
				t.Errorf("%s: the schema says %+v of %s, a %s", name, p, tag, f.Type)
			}
			if slices.Contains(def.Required, tag) && omit != "" {
				t.Errorf("%s: %s is required, and left out where it is empty", name, tag)
			}
			if !slices.Contains(reported, tag) {
				t.Errorf("%s: docs/reference/history.md does not have %s: %v", name, tag, reported)
			}
		}
	}
}
