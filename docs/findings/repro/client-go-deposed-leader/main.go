// A leader that has read of its successor goes on leading for RenewDeadline.
// Needs a Kubernetes API server: KUBECONFIG=... main.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// elect runs for the Lease and sends the leader's context.
func elect(id, name string) (*leaderelection.LeaderElector, chan context.Context) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		panic(err)
	}
	leads := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Client: coordination.NewForConfigOrDie(config), LockConfig: resourcelock.ResourceLockConfig{Identity: id}},
		LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: time.Second,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(ctx context.Context) { leads <- ctx }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		panic(err)
	}
	go elector.Run(context.Background())
	return elector, leads
}

func main() {
	if len(os.Args) > 1 { // A, in a process of its own
		elector, leads := elect("A", os.Args[1])
		ctx := <-leads
		fmt.Println("A leads")
		for elector.IsLeader() {
			time.Sleep(time.Millisecond)
		}
		known := time.Now()
		fmt.Printf("A's library has read that %s leads\n", elector.GetLeader())
		<-ctx.Done()
		late := time.Since(known)
		fmt.Printf("A's context ends %d ms after that\n", late.Milliseconds())
		if late > time.Second {
			fmt.Println("BROKEN: A led on, and its library knew better")
			os.Exit(1)
		}
		fmt.Println("ok")
		return
	}
	name := strings.ToLower(rand.Text())
	a := exec.Command(os.Args[0], name)
	a.Stdout, a.Stderr = os.Stdout, os.Stderr
	a.Start()
	time.Sleep(2500 * time.Millisecond) // A leads, and is between two renewals
	a.Process.Signal(syscall.SIGSTOP)
	fmt.Println("A is stopped")
	_, leads := elect("B", name)
	<-leads
	fmt.Println("B leads; A goes on")
	a.Process.Signal(syscall.SIGCONT)
	if a.Wait() != nil {
		os.Exit(1)
	}
}
