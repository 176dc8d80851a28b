// A waiter takes a Lease over before LeaseDuration has passed since the last renewal.
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

const lease = 3 * time.Second

var (
	cut     atomic.Bool               // A's requests get no answer
	renewed atomic.Pointer[time.Time] // when A sent the last renewal that succeeded
)

type network struct{ http.RoundTripper }

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	if cut.Load() {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	now := time.Now()
	answer, err := n.RoundTripper.RoundTrip(r)
	if r.Method == http.MethodPut && err == nil && answer.StatusCode == http.StatusOK {
		renewed.Store(&now)
	}
	return answer, err
}

func main() {
	start, name := time.Now(), strings.ToLower(rand.Text())
	run := func(id string) chan struct{} {
		config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
		if err != nil {
			panic(err)
		}
		config.QPS = -1 // no limit
		if id == "A" {
			config.Wrap(func(t http.RoundTripper) http.RoundTripper { return network{t} })
		}
		leads := make(chan struct{})
		go leaderelection.RunOrDie(context.Background(), leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
				Client: coordination.NewForConfigOrDie(config), LockConfig: resourcelock.ResourceLockConfig{Identity: id}},
			LeaseDuration: lease, RenewDeadline: 2 * time.Second, RetryPeriod: 100 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { close(leads) },
				OnStoppedLeading: func() {},
			},
		})
		return leads
	}
	say := func(format string, args ...any) {
		fmt.Printf("%5d ms  %s\n", time.Since(start).Milliseconds(), fmt.Sprintf(format, args...))
	}
	<-run("A")
	say("A leads, and renews every 100 ms")
	b := run("B")
	time.Sleep(3 * time.Second)
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1900 * time.Millisecond))) // the end of a second
	cut.Store(true)
	say("A is cut off; it renewed %d ms before", time.Since(*renewed.Load()).Milliseconds())
	<-b
	left := time.Until(renewed.Load().Add(lease))
	say("B leads; A's lease has another %d ms", left.Milliseconds())
	if left > 0 {
		fmt.Println("BROKEN: B has not waited for LeaseDuration since the last renewal")
		os.Exit(1)
	}
	fmt.Println("ok")
}
