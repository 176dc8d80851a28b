// A former leader releases the Lease of the current leader.
// Needs a Kubernetes API server: KUBECONFIG=... main.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// stopped holds A up at its next renewal, as a stopped process, and then fails that renewal.
type stopped struct {
	http.RoundTripper
	until chan struct{}
}

func (s stopped) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut {
		if _, open := <-s.until; open {
			return nil, errors.New("connection lost")
		}
	}
	return s.RoundTripper.RoundTrip(r)
}

func main() {
	start, name, until := time.Now(), strings.ToLower(rand.Text()), make(chan struct{})
	say := func(text string) { fmt.Printf("%5d ms  %s\n", time.Since(start).Milliseconds(), text) }
	run := func(ctx context.Context, id string) (leads, ended chan struct{}) {
		config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
		if err != nil {
			panic(err)
		}
		if id == "A" {
			config.Wrap(func(t http.RoundTripper) http.RoundTripper { return stopped{t, until} })
		}
		leads, ended = make(chan struct{}), make(chan struct{})
		go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
				Client: coordination.NewForConfigOrDie(config), LockConfig: resourcelock.ResourceLockConfig{Identity: id}},
			LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: time.Second, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { say(id + " leads"); close(leads) },
				OnStoppedLeading: func() { close(ended) },
			},
		})
		return leads, ended
	}
	ctxA, cancelA := context.WithCancel(context.Background())
	leadsA, endedA := run(ctxA, "A")
	<-leadsA
	leadsB, _ := run(context.Background(), "B")
	<-leadsB
	time.Sleep(300 * time.Millisecond)
	cancelA() // A is asked to end; its guarded work has ended
	until <- struct{}{}
	close(until)
	<-endedA
	say("A has ended")
	leadsC, _ := run(context.Background(), "C")
	select {
	case <-leadsC:
		fmt.Println("BROKEN: B and C lead: A has released B's lease")
		os.Exit(1)
	case <-time.After(4 * time.Second):
		fmt.Println("ok: B leads")
	}
}
