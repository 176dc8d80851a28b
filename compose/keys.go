package compose

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/suggest"
)

// unknownKeys returns an error for a key of an extension that no field of the type reads:
// what is misspelt would be passed over in silence. at says where it stands.
func unknownKeys(raw any, t reflect.Type, at string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice:
		list, _ := raw.([]any) // what is none, decoding refuses
		for _, item := range list {
			if err := unknownKeys(item, t.Elem(), at); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Struct:
		fields, names := map[string]reflect.Type{}, []string{}
		for i := range t.NumField() {
			name := t.Field(i).Tag.Get("mapstructure")
			fields[name], names = t.Field(i).Type, append(names, name)
		}
		members, _ := raw.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(members)) {
			field, ok := fields[strings.ToLower(key)] // decoding tells no cases apart
			if !ok {
				return fmt.Errorf("%s: unknown key %q%s (have %s)", at, key, suggest.Word(key, names), strings.Join(names, ", "))
			}
			if err := unknownKeys(members[key], field, at+"."+key); err != nil {
				return err
			}
		}
	}
	return nil
}
