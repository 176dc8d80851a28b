// Package dynamoserver starts an emulator of DynamoDB for the tests of the locks on it.
package dynamoserver

import (
	"net/http"
	"os"
	"os/exec"
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	port := servers.FreePort(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), Part.Variable+"=127.0.0.1:"+port)
	return []*contract.Server{servers.Start(t, port, cmd)}
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
