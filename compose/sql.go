package compose

import (
	"encoding/binary"
	"errors"
)

// sqlTrue is what a Postgres server sends back when a query's answer is one value,
// and that is true: a row of one column of one byte.
const sqlTrue = `D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x01t`

// fill makes a question in SQL one that can be sent: it logs in and asks, both
// at once, and needs a server that lets the user postgres in without a password
// (https://www.postgresql.org/docs/current/protocol-flow.html). If no answer is
// given to expect, it must be true.
func (p *Probe) fill() error {
	if p.SQL == "" {
		return nil
	}
	if p.Send != "" {
		return errors.New("x-picklock: a probe has either send or sql")
	}
	const version = 3 << 16
	startup := binary.BigEndian.AppendUint32(nil, version)
	startup = append(startup, "user\x00postgres\x00database\x00postgres\x00\x00"...)
	query := p.SQL
	if len(query) > 1000 {
		return errors.New("x-picklock: sql: the query is too long")
	}
	for (len(query)+5)&0x80 != 0 {
		query += " " // so that no byte of the message is none of a text's: it travels as one
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(startup)))
	b = append(append(b, startup...), 'Q')
	b = binary.BigEndian.AppendUint32(b, uint32(4+len(query)+1))
	p.Send = string(append(append(b, query...), 0))
	if p.Expect == "" {
		p.Expect = sqlTrue
	}
	return nil
}

// answeredSQL says that the answer to a question in SQL is whole: the server is ready for a query for the second time,
// first after the login. It keeps the connection open, so that there is no other end
// (https://www.postgresql.org/docs/current/protocol-message-formats.html).
func answeredSQL(answer []byte) bool {
	const (
		head  = 5 // a message's type, and its length without the type
		ready = 'Z'
	)
	for n := 0; len(answer) >= head; {
		length := binary.BigEndian.Uint32(answer[1:head])
		if length < head-1 || uint64(len(answer)) < 1+uint64(length) {
			return false
		}
		if answer[0] == ready {
			if n++; n == 2 {
				return true
			}
		}
		answer = answer[1+length:]
	}
	return false
}
