package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
)

// ErrOwnFormat says that a file is picklock's own history, for package checker.
var ErrOwnFormat = errors.New("a history of picklock's own")

// Read reads a history in whatever format it is: EDN maps or columns (Jepsen's history.edn
// and history.txt), or lines of Jepsen's log (Porcupine's test data). ErrOwnFormat for JSON lines, and for what is
// named so and begins as none of the others. A file that holds nothing is a history of nothing.
func Read(r io.Reader, name string) (*History, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	head, err := br.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, &LineError{name, 1, err}
	}
	text := bytes.TrimLeftFunc(head, unicode.IsSpace)
	switch {
	case strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".jsonl") && !isAnothers(text):
		return nil, ErrOwnFormat // also where it is cut off in its first line
	case len(text) == 0 && len(head) == 4096:
		return nil, &LineError{name, 1, errors.New("unknown format: it begins with 4096 blanks")}
	case len(text) == 0:
		return &History{File: name}, nil
	case isJSON(text):
		return nil, ErrOwnFormat
	case isEmptyMap(text):
		return nil, &LineError{name, 1, errors.New(`an empty event: want {"type": .., "process": .., "f": ..} as in picklock's history.jsonl, or {:type .., :process .., :f ..} as in a Jepsen history`)}
	case isText(text):
		return ReadText(br, name)
	case bytes.Contains(head, []byte("jepsen.util")):
		return ReadLog(br, name)
	case bytes.IndexByte([]byte("{[(#;"), text[0]) >= 0:
		return ReadJepsen(br, name)
	}
	return nil, &LineError{name, 1, errors.New("unknown format: want picklock's history.jsonl, CSV (in a file named .csv, or with --map time=COLUMN), a trace of OpenTelemetry (OTLP's JSON), a Jepsen history (EDN or history.txt), or a Jepsen log")}
}

// isAnothers says whether a history in one of the other formats begins here for certain.
func isAnothers(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	item := bytes.TrimLeftFunc(bytes.TrimLeft(text, "[("), unicode.IsSpace)
	keyword := bytes.HasPrefix(item, []byte("{")) && bytes.HasPrefix(bytes.TrimLeftFunc(item[1:], unicode.IsSpace), []byte(":"))
	return keyword || bytes.HasPrefix(item, []byte("#jepsen.")) || isText(text)
}

// isJSON says whether an object with a quoted name begins here: EDN maps of a
// history have keywords.
func isJSON(text []byte) bool {
	if text[0] != '{' {
		return false
	}
	text = bytes.TrimLeftFunc(text[1:], unicode.IsSpace)
	return len(text) > 0 && text[0] == '"'
}

// isEmptyMap says whether "{}" begins here, which JSON and EDN share.
func isEmptyMap(text []byte) bool {
	return text[0] == '{' && bytes.HasPrefix(bytes.TrimLeftFunc(text[1:], unicode.IsSpace), []byte("}"))
}
