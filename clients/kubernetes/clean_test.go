package kubernetes

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/picklock/picklock/clients"
)

// Leases are deleted whose names begin with the mark, and no others.
func TestClean(t *testing.T) {
	const mark = "picklock-abcdefghij-"
	var mu sync.Mutex
	leases := []string{"my-" + mark + "k0", "other", mark + "k0", mark + "k1", "picklock-aaaaaaaaaa-k0"}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		i := slices.Index(leases, path.Base(r.URL.Path))
		switch {
		case r.Method == http.MethodGet:
			items := make([]string, len(leases))
			for i, name := range leases {
				items[i] = fmt.Sprintf(`{"metadata":{"name":%q}}`, name)
			}
			fmt.Fprintf(w, `{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","items":[%s]}`, strings.Join(items, ","))
		case i < 0:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		default:
			leases = slices.Delete(leases, i, i+1)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	o := clients.Options{Servers: []string{s.Listener.Addr().String()}}
	if marks, err := service().Marks(t.Context(), o); err != nil || !slices.Equal(marks, []string{"picklock-aaaaaaaaaa-", mark}) {
		t.Errorf("marks are %q, %v", marks, err)
	}
	for _, want := range []int{2, 0} {
		if n, err := service().Clean(t.Context(), o, mark); n != want || err != nil {
			t.Errorf("%d removed, %v, want %d", n, err, want)
		}
	}
	if want := []string{"my-" + mark + "k0", "other", "picklock-aaaaaaaaaa-k0"}; !slices.Equal(leases, want) {
		t.Errorf("left are %q, want %q", leases, want)
	}
}
