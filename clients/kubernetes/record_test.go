package kubernetes

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/picklock/picklock/clients"
)

// An update whose connection broke may still be carried out as long as the record that it is
// to replace is there; once that is another, the update has come or will be refused.
func TestUnsettledUpdate(t *testing.T) {
	holder, version := "other", 1
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			panic(http.ErrAbortHandler) // the request was received, and no answer comes
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"k","namespace":"default","resourceVersion":"%d"},
			"spec":{"holderIdentity":%q,"leaseDurationSeconds":1,"leaseTransitions":%d}}`, version, holder, version)
	}))
	defer api.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c, err := coordination.NewForConfigAndClient(&rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, QPS: -1}, &http.Client{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	r := &kubeRecord{
		LeaseLock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "k", Namespace: "default"}, Client: c, LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}},
		options:   clients.Options{TTL: time.Second},
	}
	get := func() {
		t.Helper()
		if _, _, err := r.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	get()
	if err := r.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me", LeaseDurationSeconds: 1}); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Fatalf("updated: %v", err)
	}
	if r.unsettled() == nil {
		t.Fatal("nothing is open after an update without an answer")
	}
	get()
	if r.unsettled() == nil {
		t.Error("the record is the one that the update is to replace, and the update counts as settled")
	}
	version = 2
	get()
	if err := r.unsettled(); err != nil {
		t.Errorf("another record is there, and still: %v", err)
	}
}
