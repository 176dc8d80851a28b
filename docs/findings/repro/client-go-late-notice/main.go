// The context of a leader that is cut off ends after its lease, if ReleaseOnCancel is set.
// Needs a Kubernetes API server: KUBECONFIG=... main.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var cut atomic.Bool // A's requests get no answer

type network struct{ http.RoundTripper }

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	if cut.Load() {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return n.RoundTripper.RoundTrip(r)
}

func main() {
	start, name := time.Now(), strings.ToLower(rand.Text())
	say := func(text string) { fmt.Printf("%5d ms  %s\n", time.Since(start).Milliseconds(), text) }
	run := func(id string, retry time.Duration) (leads chan context.Context) {
		config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
		if err != nil {
			panic(err)
		}
		config.Timeout = 2 * time.Second // RenewDeadline/2, as resourcelock.NewFromKubeconfig does
		if id == "A" {
			config.Wrap(func(t http.RoundTripper) http.RoundTripper { return network{t} })
		}
		leads = make(chan context.Context, 1)
		go leaderelection.RunOrDie(context.Background(), leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
				Client: coordination.NewForConfigOrDie(config), LockConfig: resourcelock.ResourceLockConfig{Identity: id}},
			LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: retry, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) { say(id + " leads"); leads <- ctx },
				OnStoppedLeading: func() {},
			},
		})
		return leads
	}
	a := <-run("A", 1100*time.Millisecond)
	b := run("B", 200*time.Millisecond)
	time.Sleep(1300 * time.Millisecond)
	cut.Store(true)
	say("A is cut off")
	<-b
	if a.Err() != nil {
		fmt.Println("ok: A's context has ended before")
		return
	}
	<-a.Done()
	say("A's context ends")
	fmt.Println("BROKEN: two leaders in between")
	os.Exit(1)
}
