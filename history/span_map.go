package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrSpans says that the mapping of names and attributes makes no events of a trace's spans.
var ErrSpans = errors.New("the spans do not make events")

// SpanName maps a member to the span's name instead of an attribute.
const SpanName = "span.name"

// instance is the resource's attribute that names the process if no other does.
const instance = "service.instance.id"

// slot is what an attribute of a span stands for: a member of an event.
type slot uint8

const (
	atKey slot = iota
	atGrant
	atToken
	atValue
	atSince
	atLease
	atMode
	atPermits
	atWatchdog
	atExpired
	atLingers
	atNotifies
	atHeld
	atNotHeld
	atError
	atCancelled
	atClientFailed
	atNodes
	atConfirmed
	atFault
	atDetail
	atType
	atF
	atMachine
	atInstance
	atProcess // and those after it: a process can have a name of several parts
	slots     = atProcess + 4
)

var slotNames = []string{
	atKey: "key", atGrant: "grant", atToken: "token", atValue: "value", atSince: "since", atLease: "lease", atMode: "mode",
	atPermits: "permits", atWatchdog: "watchdog", atExpired: "expired", atLingers: "lingers", atNotifies: "notifies", atHeld: "held", atNotHeld: "not_held", atError: "error", atCancelled: "cancelled", atClientFailed: "client_failed", atNodes: "nodes", atConfirmed: "confirmed",
	atFault: "fault", atDetail: "detail", atType: "type", atF: "f", atMachine: "machine", atInstance: "", atProcess: "process",
}

var operations = []string{Acquire, Release, Renew, Holds, Lost, Read, Write, Add}

// SpanMembers are what can be mapped of a trace: the members of an event, to the names of
// attributes, and the operations, to the names of spans.
func SpanMembers() []string {
	return append(slices.DeleteFunc(slices.Clone(slotNames), func(s string) bool { return s == "" }), operations...)
}

// units are the powers of ten that make nanoseconds of a unit.
var units = []struct {
	suffix string
	digits int
}{{"/ns", 0}, {"/us", 3}, {"/ms", 6}, {"/s", 9}}

// spanMap says what the names and attributes of spans stand for. Nothing changes it.
type spanMap struct {
	attributes map[string][]slot
	verbs      map[string]string // span names, or what the attribute for f says
	digits     [slots]int        // of a time's unit
	parts      slot              // the end of the slots of the process
	named      [slots]bool       // an attribute is asked for by name
}

func newSpanMap(as map[string]string) (*spanMap, error) {
	m := &spanMap{attributes: map[string][]slot{instance: {atInstance}}, verbs: map[string]string{}, parts: atProcess + 1}
	for at, member := range slotNames {
		if member == "" {
			continue
		}
		from, named := as[member]
		m.named[at] = named
		if !named {
			from = member
		}
		if s := slot(at); s == atSince || s == atLease {
			for _, u := range units {
				if name, ok := strings.CutSuffix(from, u.suffix); ok {
					from, m.digits[at] = name, u.digits
					break
				}
			}
		}
		parts := []string{from}
		if slot(at) == atProcess {
			parts = strings.Split(from, "+")
			if m.parts = atProcess + slot(len(parts)); m.parts > slots {
				return nil, fmt.Errorf("%w: process is of %d attributes, of 4 at most", ErrSpans, len(parts))
			}
		}
		for i, name := range parts {
			if !named && slot(at) == atF {
				continue // the span's name says what is done
			}
			m.attributes[name] = append(m.attributes[name], slot(at+i))
		}
		if slot(at) == atConfirmed && !named {
			m.attributes[formerConfirmed] = append(m.attributes[formerConfirmed], atConfirmed)
		}
	}
	for _, f := range operations {
		names, named := as[f]
		if !named {
			names = f
		}
		for name := range strings.SplitSeq(names, "|") {
			if other, twice := m.verbs[name]; twice && named && as[other] != "" {
				return nil, fmt.Errorf("%w: spans named %s would be of %s and of %s", ErrSpans, quote(name), other, f)
			} else if twice && !named {
				continue
			}
			m.verbs[name] = f
		}
	}
	return m, nil
}
