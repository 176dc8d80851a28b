package zookeeper

import (
	"strings"
	"testing"
)

// The example of RFC 2831, section 4, with ZooKeeper's name of the service in place of its
// own, reckoned by Python's hashlib.
func TestDigestMD5(t *testing.T) {
	const challenge = `realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8`
	answer, proof, err := digestMD5(challenge, "chris", "secret", "OA6MHXh6VqTrRk")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`username="chris"`, `realm="elwood.innosoft.com"`, `nonce="OA6MG9tEQGm2hh"`, `cnonce="OA6MHXh6VqTrRk"`, "nc=00000001", "response=3d53f3e841d45c8a4dcf0f37c4725582,"} {
		if !strings.Contains(answer, want) {
			t.Errorf("no %s in %s", want, answer)
		}
	}
	if proof != "8c55a82deadfa98cf2a60488be40c74d" {
		t.Errorf("the server has to answer %s", proof)
	}
	if _, _, err := digestMD5(`mechanism="GSSAPI"`, "chris", "secret", "x"); err == nil {
		t.Error("an answer to another mechanism")
	}
	if other, _, _ := digestMD5(challenge, "chris", "Secret", "OA6MHXh6VqTrRk"); other == answer {
		t.Error("the password does not matter")
	}
}
