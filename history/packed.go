package history

import "encoding/binary"

// How a sorter writes an event to its file: a mask of the members that are there, and
// each of them. The file lives as long as the process, so nobody else reads this form.

// The bits of the mask.
const (
	pKey = 1 << iota
	pGrant
	pToken
	pValue
	pSince
	pLease
	pMode
	pPermits
	pHeld
	pError
	pClientFailed
	pNodes
	pPhase
	pLanded
	pDetail
	pMachine
)

// packEvent appends an event and its line.
func packEvent(b []byte, e *Event, line int) []byte {
	mask := uint64(0)
	for bit, there := range [...]bool{
		e.Key != "", e.Grant != "", e.Token != 0, e.Value != "", e.Since != 0, e.Lease != 0, e.Mode != "", e.Permits != 0,
		e.Held, e.Error != "", e.ClientFailed, e.Nodes != nil, e.Phase != "", e.Landed, e.Detail != "", e.Machine != "",
	} {
		if there {
			mask |= 1 << bit
		}
	}
	b = binary.AppendUvarint(b, mask)
	for _, n := range [...]int64{int64(line), e.Index, e.Time} {
		b = binary.AppendVarint(b, n)
	}
	b = packWord(packWord(packString(b, e.Process), string(e.Type)), e.F)
	for _, m := range [...]struct {
		bit  uint64
		text string
	}{{pKey, e.Key}, {pGrant, e.Grant}, {pValue, e.Value}, {pMode, e.Mode}, {pError, e.Error}, {pPhase, e.Phase}, {pDetail, e.Detail}, {pMachine, e.Machine}} {
		if mask&m.bit != 0 {
			b = packString(b, m.text)
		}
	}
	for _, m := range [...]struct {
		bit uint64
		n   int64
	}{{pToken, e.Token}, {pSince, e.Since}, {pLease, e.Lease}, {pPermits, e.Permits}} {
		if mask&m.bit != 0 {
			b = binary.AppendVarint(b, m.n)
		}
	}
	if mask&pNodes != 0 {
		b = binary.AppendUvarint(b, uint64(len(e.Nodes)))
		for _, n := range e.Nodes {
			b = packString(b, n)
		}
	}
	return b
}

func packString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// packedWords are written as one byte, their number from 1 on.
var packedWords = [...]string{string(Invoke), string(OK), string(Fail), string(Info), Acquire, Release, Renew, Lost, Read, Write, Add}

func packWord(b []byte, s string) []byte {
	for i, w := range packedWords {
		if s == w {
			return append(b, byte(i+1))
		}
	}
	return packString(append(b, 0), s)
}

// unpackEvent reads what packEvent wrote, and returns the line.
func unpackEvent(b []byte, e *Event, words *interner) int {
	u := unpacker{b, words}
	mask := u.count()
	line := int(u.number())
	*e = Event{Index: u.number(), Time: u.number(), Process: u.string(), Type: Type(u.word()), F: u.word()}
	for _, m := range [...]struct {
		bit uint64
		to  *string
	}{{pKey, &e.Key}, {pGrant, &e.Grant}, {pValue, &e.Value}, {pMode, &e.Mode}, {pError, &e.Error}, {pPhase, &e.Phase}, {pDetail, &e.Detail}, {pMachine, &e.Machine}} {
		if mask&m.bit != 0 {
			*m.to = u.string()
		}
	}
	for _, m := range [...]struct {
		bit uint64
		to  *int64
	}{{pToken, &e.Token}, {pSince, &e.Since}, {pLease, &e.Lease}, {pPermits, &e.Permits}} {
		if mask&m.bit != 0 {
			*m.to = u.number()
		}
	}
	e.Held, e.ClientFailed, e.Landed = mask&pHeld != 0, mask&pClientFailed != 0, mask&pLanded != 0
	if mask&pNodes != 0 {
		e.Nodes = make([]string, u.count())
		for i := range e.Nodes {
			e.Nodes[i] = u.string()
		}
	}
	return line
}

// packedOrder is the time and the index of a packed event.
func packedOrder(b []byte) (time, index int64) {
	u := unpacker{b: b}
	u.count()  // the mask
	u.number() // the line
	index = u.number()
	return u.number(), index
}

// unpacker walks over one packed event.
type unpacker struct {
	b     []byte
	words *interner
}

func (u *unpacker) count() uint64 {
	n, size := binary.Uvarint(u.b)
	u.b = u.b[size:]
	return n
}

func (u *unpacker) number() int64 {
	n, size := binary.Varint(u.b)
	u.b = u.b[size:]
	return n
}

func (u *unpacker) word() string {
	n := u.b[0]
	u.b = u.b[1:]
	if n == 0 {
		return u.string()
	}
	return packedWords[n-1]
}

func (u *unpacker) string() string {
	n := u.count()
	text := u.b[:n]
	u.b = u.b[n:]
	return u.words.string(text)
}
