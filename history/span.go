package history

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// span is one span. Its exported fields have the names of OTLP's JSON.
type span struct {
	SpanID            string
	Name              string
	StartTimeUnixNano numeral
	EndTimeUnixNano   numeral
	Attributes        []attribute
	Status            struct {
		Code    numeral
		Message string
	}

	line       int
	start, end int64 // ns since 1970; end is 0 where there is none
}

// resource says which program made the spans.
type resource struct{ Attributes []attribute }

type attribute struct {
	Key   string
	Value anyValue
}

// anyValue is the value of an attribute. At most one member is set.
type anyValue struct {
	StringValue *string
	IntValue    *numeral
	DoubleValue *numeral
	BoolValue   *bool
	ArrayValue  *struct {
		Values []struct{ StringValue *string }
	}
	KvlistValue, BytesValue *ignored
}

// numeral is the text of a number, which OTLP writes in quotes or without.
type numeral string

func (n *numeral) UnmarshalJSON(text []byte) error {
	if string(text) != "null" {
		*n = numeral(strings.Trim(string(text), `"`))
	}
	return nil
}

// errForm says that a span has another form than OTLP's JSON gives it.
var errForm = errors.New("not a span in OTLP's JSON form (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding)")

// nanos is a time; 0 if there is none.
func (n numeral) nanos() (int64, error) {
	if n == "" {
		return 0, nil
	}
	ns, err := strconv.ParseUint(string(n), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%w: %s is no time in nanoseconds", errForm, quote(string(n)))
	}
	return int64(ns), nil
}

// text is the value as a member that is a string has it.
func (v *anyValue) text() (string, error) {
	switch {
	case v == nil || *v == anyValue{}:
		return "", nil
	case v.StringValue != nil:
		return *v.StringValue, nil
	case v.IntValue != nil:
		return string(*v.IntValue), nil
	case v.DoubleValue != nil:
		return string(*v.DoubleValue), nil
	case v.BoolValue != nil:
		return strconv.FormatBool(*v.BoolValue), nil
	}
	return "", errors.New("it is neither a text, a number nor a truth")
}

// integer is the value as a member that is a number has it. digits is the power of ten that
// makes nanoseconds of its unit. A duration is rounded down to whole nanoseconds.
func (v *anyValue) integer(digits int, duration bool) (int64, error) {
	text, err := v.text()
	if err != nil || text == "" {
		return 0, err
	}
	if n, ok := scaled(text, digits, duration); ok {
		return n, nil
	}
	if d, err := time.ParseDuration(text); err == nil && duration {
		return int64(d), nil
	}
	return 0, fmt.Errorf("%s is no number that fits", quote(text))
}

// truth is the value as a member that is true or false has it.
func (v *anyValue) truth() (bool, error) {
	text, err := v.text()
	if err != nil || text == "" {
		return false, err
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s is neither true nor false", quote(text))
	}
	return b, nil
}

// words is the value as a list of strings.
func (v *anyValue) words() ([]string, error) {
	if v == nil || v.ArrayValue == nil {
		text, err := v.text()
		return strings.Fields(text), err
	}
	var out []string
	for _, one := range v.ArrayValue.Values {
		if one.StringValue == nil {
			return nil, errors.New("a list of something other than texts")
		}
		out = append(out, *one.StringValue)
	}
	return out, nil
}

// scaled is a decimal number times a power of ten. If cut, it is rounded down; if not, it has
// to be whole.
func scaled(text string, digits int, cut bool) (int64, bool) {
	whole, part, _ := strings.Cut(text, ".")
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		f *= math.Pow10(digits)
		if err != nil || math.Abs(f) >= 1<<53 || !cut && f != math.Trunc(f) {
			return 0, false
		}
		return int64(math.Floor(f)), true
	}
	if whole == "" || strings.Trim(part, "0123456789") != "" || !cut && strings.Trim(part, "0") != "" {
		return 0, false
	}
	rest := part[min(len(part), digits):]
	part = (part + strings.Repeat("0", digits))[:digits]
	n, err := strconv.ParseInt(whole+part, 10, 64)
	if err != nil {
		return 0, false
	}
	if strings.HasPrefix(whole, "-") && strings.Trim(rest, "0") != "" {
		n-- // down, not towards 0
	}
	return n, true
}
