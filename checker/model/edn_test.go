package model

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestEDN: what is read of each value, written so that equal values read the same.
func TestEDN(t *testing.T) {
	for text, want := range map[string]string{
		"nil":                            "nil",
		"true false":                     "true false",
		"5 -5 +5 0 9 -9 +9 10N":          "5 -5 5 0 9 -9 9 10",
		"- + -a +b -: 1.5 1/2 1e3":       "- + -a +b -: 1.5 1/2 1000.0",
		"-/ +/ ./5":                      "-/ +/ ./5", // the bytes beside the digits
		"9223372036854775808":            "9223372036854775808",
		":a :a/b":                        ":a :a/b",
		`"a" "a \"b\"" "\n\t\r\\"`:       `"a" "a \"b\"" "\n\t\r\\"`,
		`"\u00e9\ud83d\ude00"`:           `"é😀"`,
		`\a \newline \"`:                 `\a \newline \"`,
		"foo foo/bar":                    "foo foo/bar",
		"[1 (2 3), #{4}] {:a 1, :b [2]}": "[1 [2 3] #{4}] {:a 1 :b [2]}",
		"[] () {} #{}":                   "[] [] {} #{}",
		"; all of it\n5 ; and more\n6":   "5 6",
		"5;":                             "5",
		"^:a 5 ^{:b 1} [6]":              "5 [6]",
		"#_ 1 2 [3 #_ 4] {:a #_ 5 6}":    "2 [3] {:a 6}",
		"^:a #_ 1 2 #x #_ 3 4":           "2 #x 4",
		`#inst "2020" #x/y {:a 1}`:       `#inst "2020" {:a 1}`,
		"##NaN ##Inf ##-Inf":             "NaN Inf -Inf",
		"5\f6\r\n7,8":                    "5 6 7 8",
	} {
		d := newEDN(strings.NewReader(text))
		var got []string
		for {
			v, err := d.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%q: %v", text, err)
				break
			}
			got = append(got, v.String())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %s, want %s", text, s, want)
		}
	}
}

// TestEDNLines: values know the lines on which they begin.
func TestEDNLines(t *testing.T) {
	d := newEDN(strings.NewReader("\n5\n[6\n7\n] ; more\n#{8} #x\n9 \"a\nb\" c"))
	for _, want := range []int{2, 3, 6, 7, 7, 8} {
		v, err := d.next()
		if err != nil || v.line != want {
			t.Errorf("%s on line %d, want %d (%v)", v, v.line, want, err)
		}
		if v.kind == kList && len(v.items) == 2 && (v.items[0].line != 3 || v.items[1].line != 4) {
			t.Errorf("%s: lines %d and %d", v, v.items[0].line, v.items[1].line)
		}
	}
}

// TestBadEDN: what is no value is an error, and so is its end in the middle of one,
// and a file that cannot be read on.
func TestBadEDN(t *testing.T) {
	const end = "the file ends in the middle of a value"
	for text, want := range map[string]string{
		"": "EOF", " ; nothing": "EOF",
		")": "unexpected ')'", "]": "unexpected ']'", "}": "unexpected '}'", "(1]": "unexpected ']'", "[}": "unexpected '}'",
		"(": end, "[1": end, "{:a": end, "#{": end, `"a`: end, `"a\`: end, "#": end, "##": end, "#_": end, "#x": end, "#_ [": end,
		"^": end, "^:a": end, "^ [": end, `\`: end, "[5 ; 6": end,
		"{:a}": "a map with a key and no value", "{:a 1 :b}": "a map with a key and no value",
		":": "a colon without a name", "[: 5]": "a colon without a name",
		strings.Repeat("[", maxDepth+2):             "nested deeper than 64",
		strings.Repeat("^", maxDepth+2) + "5 5":     "nested deeper than 64",
		`"` + strings.Repeat("a", maxAtom+1) + `"`:  "a string of more than 1048576 bytes",
		strings.Repeat("a", maxAtom+1):              "a word of more than 1048576 bytes",
		`\` + strings.Repeat("a", maxAtom+1):        "a word of more than 1048576 bytes",
		"#" + strings.Repeat("a", maxAtom+1) + " 5": "a word of more than 1048576 bytes",
		"##" + strings.Repeat("a", maxAtom+1):       "a word of more than 1048576 bytes",
	} {
		if v, err := newEDN(strings.NewReader(text)).next(); err == nil || err.Error() != want {
			t.Errorf("%.20q: %.20s, %v, want %s", text, v, err, want)
		}
	}
	bad := errors.New("the disk is gone")
	for _, text := range []string{"", "[", "[5 ", "{:a ", `"a`, `"a\`, "5", "#", "#x", "#x ", "##", "##N", "#_", "^", "^:a ", `\`, `\a`, "; a"} {
		if v, err := newEDN(io.MultiReader(strings.NewReader(text), iotest.ErrReader(bad))).next(); !errors.Is(err, bad) {
			t.Errorf("%q on a bad disk: %s, %v", text, v, err)
		}
	}
	// As large as is allowed.
	for _, text := range []string{strings.Repeat("[", maxDepth) + "5" + strings.Repeat("]", maxDepth), `"` + strings.Repeat("a", maxAtom) + `"`, strings.Repeat("a", maxAtom)} {
		if _, err := newEDN(strings.NewReader(text)).next(); err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// TestGet: the last of a key's values counts, and only maps have any.
func TestGet(t *testing.T) {
	for text, want := range map[string]string{
		"{:a 1}": "1", "{:a 1 :a 2}": "2", "{:b 1}": "nil", "{a 1}": "nil", `{"a" 1}`: "nil", "[:a 1]": "nil", "{:b :a}": "nil", "{:b 1 :a 2}": "2", "nil": "nil",
	} {
		v, err := newEDN(strings.NewReader(text)).next()
		if err != nil || v.get("a").String() != want {
			t.Errorf("%s: %s, want %s (%v)", text, v.get("a"), want, err)
		}
	}
}
