package stream

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// Role is what a client of the queue may do there.
type Role string

// The roles. Each may do what the next one may.
const (
	Coordinator Role = "coordinator" // everything: submit campaigns, end them
	Worker      Role = "worker"      // take items, give results
	Reader      Role = "reader"      // read campaigns, results and workers
)

// Roles lists them, the mightiest first.
func Roles() []Role { return []Role{Coordinator, Worker, Reader} }

// rolePrefix begins the tokens of all roles but the coordinator's, so that a client knows its role.
func (r Role) rolePrefix() string { return "picklock-" + string(r) + "-" }

// Token is a role's token on the server whose secret this is. The coordinator's is the secret itself.
// Nobody can compute the secret, or another role's token, from the token of a role.
func (r Role) Token(secret string) string {
	if r == Coordinator || secret == "" {
		return secret
	}
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte("picklock queue " + string(r)))
	return r.rolePrefix() + hex.EncodeToString(sum.Sum(nil)[:20])
}

// RoleOf is the role that a token was made for; Coordinator for any other text.
func RoleOf(token string) Role {
	for _, r := range Roles()[1:] {
		if strings.HasPrefix(token, r.rolePrefix()) {
			return r
		}
	}
	return Coordinator
}

// May reports whether a client of role r may do what needs the role other.
func (r Role) May(other Role) bool {
	for _, x := range Roles() {
		switch x {
		case r:
			return true
		case other:
			return false
		}
	}
	return false
}

// authentication gives each client the rights of its token.
type authentication struct {
	tokens map[Role]string
	rights map[Role]*server.Permissions
}

func authenticate(secret string) (*authentication, error) {
	if RoleOf(secret) != Coordinator {
		return nil, fmt.Errorf("the queue's token is the token of a %s: serve with the secret that it was made from", RoleOf(secret))
	}
	a := &authentication{map[Role]string{}, map[Role]*server.Permissions{}}
	for _, r := range Roles() {
		a.tokens[r], a.rights[r] = r.Token(secret), r.permissions()
	}
	return a, nil
}

// Check implements server.Authentication.
func (a *authentication) Check(c server.ClientAuthentication) bool {
	sent := []byte(c.GetOpts().Token)
	for r, token := range a.tokens {
		if subtle.ConstantTimeCompare(sent, []byte(token)) == 1 {
			c.RegisterUser(&server.User{Username: string(r), Permissions: a.rights[r]})
			return true
		}
	}
	return false
}

// reading are the requests of a reader. A watch is a consumer, so that readers create and delete
// consumers, but none of the items of work.
var reading = server.SubjectPermission{
	Allow: []string{
		"$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*", "$JS.API.DIRECT.GET.>",
		"$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.DELETE.*.*", "$JS.API.CONSUMER.INFO.*.*", "$JS.API.CONSUMER.LIST.*", "$JS.FC.>",
	},
	Deny: []string{
		"$JS.API.CONSUMER.CREATE." + workStream, "$JS.API.CONSUMER.CREATE." + workStream + ".>", "$JS.API.CONSUMER.DELETE." + workStream + ".*",
	},
}

// working are the requests that a worker may send besides: it takes items, and writes its state, results,
// failures and findings. Jobs, marks and reports are the coordinator's.
var working = server.SubjectPermission{
	Allow: []string{
		"$JS.API.CONSUMER.MSG.NEXT." + workStream + ".*", "$JS.API.CONSUMER.MSG.NEXT." + gainStream + ".*", "$JS.ACK." + workStream + ".>", gainSubject + ">",
		"$KV." + workers + ".>", "$KV.*.done.>", "$KV.*.fail.>", "$KV.*.return.>", "$KV.*.counterexample.>", "$O.*.C.>", "$O.*.M.>",
	},
	Deny: []string{"$KV." + campaigns + ".>", "$O.*.M." + objectName(reportObject)},
}

// permissions are the rights of a role; nil for all rights.
func (r Role) permissions() *server.Permissions {
	if r == Coordinator {
		return nil
	}
	send := reading
	if r == Worker {
		send.Allow = append(append([]string{}, reading.Allow...), working.Allow...)
		send.Deny = append(append([]string{}, reading.Deny...), working.Deny...)
	}
	return &server.Permissions{Publish: &send, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", dismissSubject}}}
}
