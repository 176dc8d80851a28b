package results

import (
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
)

// What the report's script draws and says of each kind of thing, so that it need know
// none of them by name.

// markStyle is how the script draws a kind of mark, and its words for it.
type markStyle struct {
	Glyph glyph `json:"glyph"`
	// Words follow the track's name. {what} is the operation, {value} its value in
	// quotes, {of} " of " and that where there is one, {read} what was read and {process}
	// whose it was.
	Words  string `json:"words"`
	Often  bool   `json:"often,omitempty"`  // there are so many that one may stand for several
	Fine   bool   `json:"fine,omitempty"`   // left out unless there is room
	Source string `json:"source,omitempty"` // what its index counts; "event" where it is left out
}

// glyph is a shape that the script can draw.
type glyph string

const (
	glyphTick     glyph = "tick"
	glyphDot      glyph = "dot"
	glyphCross    glyph = "cross"
	glyphPale     glyph = "pale cross"
	glyphTriangle glyph = "triangle"
	glyphDiamond  glyph = "diamond"
)

var markStyles = map[markKind]markStyle{
	markRead:     {Glyph: glyphTick, Words: "reads {read}", Often: true, Fine: true},
	markAccepted: {Glyph: glyphDot, Words: "{what} of {value} accepted", Often: true},
	markRejected: {Glyph: glyphCross, Words: "{what}{of} refused by the register"},
	markUnknown:  {Glyph: glyphDiamond, Words: "never learns what became of its {what}"},
	markFailed:   {Glyph: glyphPale, Words: "{what} failed, certainly not carried out"},
	markLost:     {Glyph: glyphTriangle, Words: "learns that it lost the lock"},
	markEffect:   {Glyph: glyphDot, Words: "carries out the {what} of {value} by {process}", Often: true, Source: "effect"},
	markRefused:  {Glyph: glyphCross, Words: "refuses the {what} by {process}", Source: "effect"},
}

// verbNames are what operations are called where it is not their own name.
var verbNames = map[string]string{history.Add: "update"}

// endStyle has the words for the end of a hold, and what that means for the lease.
type endStyle struct {
	Words    string `json:"words"`
	EndsIt   bool   `json:"ends_it,omitempty"`  // the lease ended with it
	Outlived bool   `json:"outlived,omitempty"` // the lease went on, and is shown to its end
}

var endStyles = map[endKind]endStyle{
	heldOpen:     {Words: "and never gave it back"},
	heldReleased: {Words: "then gave it back", EndsIt: true},
	heldLost:     {Words: "then learnt of the loss", EndsIt: true},
	heldKilled:   {Words: "then was killed", Outlived: true},
}

// resultWords say what became of a wait.
var resultWords = map[history.Type]string{
	history.OK:   "granted",
	history.Fail: "not granted",
	history.Info: "outcome unknown",
}

// faultStyle is how a fault is drawn: Tone is a colour of report.css, Hatch the direction
// of its lines: one of / | - \.
type faultStyle struct {
	Tone  string `json:"tone"`
	Hatch string `json:"hatch"`
}

// anyFault is the look of the faults that have none of their own.
var anyFault = faultStyle{"fault", "/"}

var faultStyles = map[string]faultStyle{
	"pause":     {"pause", "|"},
	"kill":      {"kill", `\`},
	"partition": {"partition", "/"},
	"clock":     {"clock", "-"},
	"slow":      {"slow", "/"},
	"loss":      {"partition", "-"},
	"flap":      {"partition", "|"},
	"hold":      {"slow", "|"},
	"reset":     {"partition", `\`},
	"withhold":  {"slow", `\`},
	"failover":  {"failover", "/"},
}

// stylesData is all of it for the script, and the rule by which times are written.
type stylesData struct {
	Lengths lengthsData             `json:"lengths"`
	Marks   map[markKind]markStyle  `json:"marks"`
	Verbs   map[string]string       `json:"verbs"`
	Ends    map[endKind]endStyle    `json:"ends"`
	Results map[history.Type]string `json:"results"`
	Faults  map[string]faultStyle   `json:"faults"`
	Fault   faultStyle              `json:"fault"` // any other
}

type lengthsData struct {
	Units list[format.Unit] `json:"units"`
	Minus string            `json:"minus"`
	Large int               `json:"large"`
}

func styles() stylesData {
	rule := lengthsData{format.Page.Units, format.Page.Minus, format.Page.Large}
	return stylesData{rule, markStyles, verbNames, endStyles, resultWords, faultStyles, anyFault}
}
