package model

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// String writes the value so that two values read the same if and only if they are equal, as
// Clojure's = has it: 1 is 1N and not 1.0, a list is the vector of the same members, a map and
// a set have no order, and "7" is neither 7 nor :7. Models compare these texts.
func (v value) String() string {
	var text string
	switch v.kind {
	case kNil:
		text = "nil"
	case kString:
		text = strconv.Quote(v.text)
	case kChar:
		text = "\\" + v.text
	case kKeyword:
		text = ":" + v.text
	case kNumber:
		text = number(v.text)
	case kMap:
		return "{" + strings.Join(v.members(), " ") + "}"
	case kList:
		parts := make([]string, len(v.items))
		for i := range v.items {
			parts[i] = v.items[i].String()
		}
		if !v.set {
			return "[" + strings.Join(parts, " ") + "]"
		}
		slices.Sort(parts)
		return "#{" + strings.Join(slices.Compact(parts), " ") + "}"
	default:
		text = v.text
	}
	if v.tag != "" {
		return "#" + v.tag + " " + text
	}
	return text
}

// members are a map's keys with their values, by key; of one that is there twice the last.
func (v value) members() []string {
	last := map[string]string{}
	var keys []string
	for i := 0; i+1 < len(v.items); i += 2 {
		k := v.items[i].String()
		if _, twice := last[k]; !twice {
			keys = append(keys, k)
		}
		last[k] = v.items[i+1].String()
	}
	slices.Sort(keys)
	for i, k := range keys {
		keys[i] = k + " " + last[k]
	}
	return keys
}

// longestNumber bounds what is computed with: a longer one stays as it was written.
const longestNumber = 400

// number writes a number in one way: integers of any size, ratios, decimals (with M) and
// floating-point numbers, which equal none of the others.
func number(text string) string {
	if len(text) > longestNumber {
		return text
	}
	if n, ok := new(big.Int).SetString(strings.TrimSuffix(text, "N"), 10); ok {
		return n.String()
	}
	if r, ok := new(big.Rat).SetString(text); ok && strings.Contains(text, "/") {
		return r.RatString()
	}
	if digits, ok := strings.CutSuffix(text, "M"); ok && !strings.ContainsAny(digits, "eE/") {
		if r, ok := new(big.Rat).SetString(digits); ok {
			return r.RatString() + "M"
		}
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if f == 0 {
			f = 0 // also for -0.0
		}
		out := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(out, ".e") {
			out += ".0"
		}
		return out
	}
	return text
}

// text is a string as values are compared.
func text(s string) string { return strconv.Quote(s) }

// shown is a value as people read it: a string without quotes where nothing else could be
// meant by it.
func shown(canonical string) string {
	s, err := strconv.Unquote(canonical)
	if err != nil || s == "" || s == "nil" || s == "true" || s == "false" {
		return canonical
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
	}
	if first := s[0]; first >= '0' && first <= '9' || first == '-' || strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return canonical
	}
	return s
}
