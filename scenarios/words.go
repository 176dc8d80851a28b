package scenarios

import (
	"context"
	"slices"

	"go.yaml.in/yaml/v3"
)

// stepWord is what the language knows of one word with which a step begins.
type stepWord struct {
	name  string
	fault string // the kind of fault behind it, as the nemesis names it; "" if it asks for none

	// read reads what follows the word into the step.
	read func(p *parser, n *yaml.Node, st *Step, rest string) error
	// after checks that the step is possible after those before it; nil: it always is.
	after func(o *order, n *yaml.Node, st *Step) error
	// take takes the step, and says what came of it where that is worth a word.
	take func(r *Runner, ctx context.Context, st Step) (outcome string, err error)
}

// stepWords is the one table of the words, in the order in which errors list them: who
// adds a step writes its file and its line here. A client's name is none of them: what
// it begins is an act.
var stepWords = []stepWord{
	pauseWord,
	resumeWord,
	killWord,
	startWord,
	cutWord,
	healWord,
	holdWord,
	deliverWord,
	withholdWord,
	resetWord,
	slowWord,
	lossWord,
	flapWord,
	clockWord,
	failoverWord,
	powerLossWord,
	diskWord,
	markWord,
	awaitWord,
	onlyIfWord,
	countWord,
	countedWord,
}

// lookup finds what a step can begin with beside a client's name.
func lookup(name string) (stepWord, bool) {
	i := slices.IndexFunc(stepWords, func(w stepWord) bool { return w.name == name })
	if i < 0 {
		return stepWord{}, false
	}
	return stepWords[i], true
}

// wordNames lists the words in the table's order.
func wordNames() []string {
	var names []string
	for _, w := range stepWords {
		names = append(names, w.name)
	}
	return names
}

// word is what is behind the step; a step that no parser has read may have none.
func (st *Step) word() (stepWord, bool) {
	if st.Word == actWord.name {
		return actWord, true
	}
	return lookup(st.Word)
}
