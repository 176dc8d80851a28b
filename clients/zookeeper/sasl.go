package zookeeper

import (
	"bytes"
	"crypto/md5" //nolint:gosec // what the mechanism is made of
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
)

// SASL with DIGEST-MD5 (RFC 2831), which the library does not know: the client proves that
// it has the password between the server's greeting and the library's first request.

// saslConn is a connection on which that is done. The library sends its greeting, and reads
// the server's; only then does it send more.
type saslConn struct {
	net.Conn
	username, password string

	once  sync.Once
	rest  []byte // of the greeting, that the library has not read yet
	fault error
}

// Read implements net.Conn.
func (c *saslConn) Read(b []byte) (int, error) {
	c.once.Do(func() { c.rest, c.fault = c.greeted() })
	if c.fault != nil {
		return 0, c.fault
	}
	if len(c.rest) > 0 {
		n := copy(b, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// greeted reads the server's greeting and proves who the client is.
func (c *saslConn) greeted() ([]byte, error) {
	greeting, err := c.frame()
	if err != nil {
		return nil, err
	}
	// Protocol, timeout and session: a session that has expired has nobody to prove it to.
	if len(greeting) >= 16 && binary.BigEndian.Uint64(greeting[8:16]) != 0 {
		if err := c.prove(); err != nil {
			return nil, fmt.Errorf("say who the client is: %w", err)
		}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(greeting))), greeting...), nil
}

// mostFrame bounds what a server says before anybody is logged in.
const mostFrame = 1 << 20

func (c *saslConn) frame() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.Conn, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > mostFrame {
		return nil, fmt.Errorf("the server sends %d bytes at once", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(c.Conn, b)
	return b, err
}

// exchange sends a token and returns the server's.
func (c *saslConn) exchange(token []byte) ([]byte, error) {
	const opSASL = 102
	b := binary.BigEndian.AppendUint32(nil, uint32(4+4+4+len(token)))
	b = binary.BigEndian.AppendUint32(b, 0) // the request's number, which comes back
	b = binary.BigEndian.AppendUint32(b, opSASL)
	b = binary.BigEndian.AppendUint32(b, uint32(len(token)))
	if _, err := c.Write(append(b, token...)); err != nil {
		return nil, err
	}
	reply, err := c.frame()
	if err != nil {
		return nil, err
	}
	const head = 4 + 8 + 4 // number, transaction, error
	if len(reply) < head {
		return nil, errors.New("the server's answer is too short")
	}
	if code := int32(binary.BigEndian.Uint32(reply[12:head])); code != 0 {
		return nil, fmt.Errorf("the server refuses with error %d: the user or the password may be wrong", code)
	}
	if reply = reply[head:]; len(reply) < 4 {
		return nil, nil
	}
	n := int32(binary.BigEndian.Uint32(reply))
	if n <= 0 {
		return nil, nil
	}
	if int(n) > len(reply)-4 {
		return nil, errors.New("the server's answer is cut off")
	}
	return reply[4 : 4+n], nil
}

func (c *saslConn) prove() error {
	challenge, err := c.exchange(nil)
	if err != nil {
		return err
	}
	answer, want, err := digestMD5(string(challenge), c.username, c.password, rand.Text())
	if err != nil {
		return err
	}
	proof, err := c.exchange([]byte(answer))
	if err != nil {
		return err
	}
	if !bytes.Contains(proof, []byte("rspauth="+want)) {
		return errors.New("the server does not prove that it knows the password")
	}
	return nil
}

// directive is one of a challenge's NAME=VALUE or NAME="VALUE".
var directive = regexp.MustCompile(`([a-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^,]*))`)

// digestMD5 answers a challenge, and says what the server has to answer to that.
func digestMD5(challenge, username, password, cnonce string) (answer, rspauth string, err error) {
	said := map[string]string{}
	for _, m := range directive.FindAllStringSubmatch(challenge, -1) {
		said[m[1]] = m[2] + m[3]
	}
	if said["nonce"] == "" || said["algorithm"] != "md5-sess" {
		return "", "", errors.New("the server does not offer DIGEST-MD5")
	}
	const uri, nc, qop = "zookeeper/zk-sasl-md5", "00000001", "auth"
	sum := func(parts ...string) []byte {
		h := md5.Sum([]byte(strings.Join(parts, ":"))) //nolint:gosec // as above
		return h[:]
	}
	secret := string(sum(narrow(username), said["realm"], narrow(password)))
	a1 := hex.EncodeToString(sum(secret, said["nonce"], cnonce))
	proof := func(a2 string) string {
		return hex.EncodeToString(sum(a1, said["nonce"], nc, cnonce, qop, hex.EncodeToString(sum(a2, uri))))
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	answer = fmt.Sprintf(`charset=utf-8,username="%s",realm="%s",nonce="%s",nc=%s,cnonce="%s",digest-uri="%s",maxbuf=65536,response=%s,qop=%s`,
		escape(username), said["realm"], said["nonce"], nc, cnonce, uri, proof("AUTHENTICATE"), qop)
	return answer, proof(""), nil
}

// narrow is a text in ISO 8859-1 where it can be written so: the mechanism wants it.
func narrow(text string) string {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return text
		}
		out = append(out, byte(r))
	}
	return string(out)
}
