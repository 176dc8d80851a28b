// Package dynamoserver starts an emulator of DynamoDB for the tests of the locks on it.
package dynamoserver

import (
	"net/http"
	"sync"
	"testing"

	miniserver "github.com/truora/minidyn/server"

	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

// Part is the emulator's process: its value is the address.
var Part = servers.Part{Variable: "PICKLOCK_TEST_DYNAMODB", Do: serve}

// Start starts one emulator. The test binary's TestMain has to know Part.
func Start(t testing.TB) []*contract.Server {
	port := servers.FreePort(t)
	return Part.Start(t, port, "127.0.0.1:"+port)
}

func serve(addr string) error {
	api := miniserver.NewServer()
	var mu sync.Mutex
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock() // minidyn lets the making of a table race with its use
		defer mu.Unlock()
		api.ServeHTTP(w, r)
	}))
}
