package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "kubernetes", Fetch: fetch, Stores: stores}
}

// configVariable names the kubeconfig for picklock alone; else it is where kubectl has it.
const configVariable = "PICKLOCK_KUBECONFIG"

// dialWithin is how long an external API server may take to accept a connection.
const dialWithin = 5 * time.Second

// kubeconfig is how the current context of the user's kubeconfig reaches its API server, the
// server's host and port, and the context's namespace.
func kubeconfig() (c *rest.Config, server, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if path := os.Getenv(configVariable); path != "" {
		rules.ExplicitPath = path
	}
	from := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	if c, err = from.ClientConfig(); err == nil {
		namespace, _, err = from.Namespace()
	}
	if err != nil {
		return nil, "", "", fmt.Errorf("kubernetes: read the kubeconfig that %s or KUBECONFIG names: %w", configVariable, err)
	}
	if c.Proxy != nil {
		return nil, "", "", errors.New("kubernetes: the kubeconfig has a proxy-url, which a run cannot go through: leave it out, or take a context without one")
	}
	// As data: the module keeps watching files, and a run is short.
	if err := rest.LoadTLSFiles(c); err != nil {
		return nil, "", "", fmt.Errorf("kubernetes: read a file that the kubeconfig names: %w", err)
	}
	c.CAFile, c.CertFile, c.KeyFile = "", "", ""
	host := c.Host
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	u, err := url.Parse(host)
	if err != nil {
		return nil, "", "", fmt.Errorf("kubernetes: the kubeconfig's server: %w", err)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return c, net.JoinHostPort(u.Hostname(), port), namespace, nil
}

// Server is the HOST:PORT of the API server in the user's kubeconfig.
func Server() (string, error) {
	_, server, _, err := kubeconfig()
	return server, err
}

// fetch makes the path of the kubeconfig absolute, for clients started elsewhere, and checks that
// it names the server of the run.
func fetch(_ context.Context, e clients.External) error {
	if path := os.Getenv(configVariable); path != "" {
		whole, err := filepath.Abs(path)
		if err == nil {
			err = os.Setenv(configVariable, whole)
		}
		if err != nil {
			return fmt.Errorf("kubernetes: find %s: %w", path, err)
		}
	}
	server, err := Server()
	if err == nil && (len(e.Addresses) != 1 || e.Addresses[0] != server) {
		err = fmt.Errorf("kubernetes: the kubeconfig's context names the server %s, and the run %s: use --endpoint %s, or name another kubeconfig in %s", server, strings.Join(e.Addresses, ","), server, configVariable)
	}
	return err
}

// reach is how a client connects to the API server, and the namespace of its Leases.
func reach(o clients.Options) (*rest.Config, string, error) {
	if o.External == nil {
		return &rest.Config{
			Host: "https://" + o.Servers[0], BearerToken: kubeToken,
			TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // its certificate is made at its start
		}, kubeNamespace, nil
	}
	c, _, namespace, err := kubeconfig()
	if err != nil {
		return nil, "", err
	}
	// Without the proxies that the environment names. The module does TLS itself.
	c.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	c.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{Timeout: dialWithin}).DialContext(ctx, network, o.DialAddr(addr))
	}
	return c, namespace, nil
}

func stores(_ context.Context, o clients.Options, do func(clients.Store) error) error {
	o.TTL = max(o.TTL, 15*time.Second) // a third of which a request may take
	l, err := newKubeLock(o)
	if err != nil {
		return err
	}
	defer l.Close()
	leases := l.leases.Leases(l.namespace)
	err = do(clients.Store{
		Each: func(ctx context.Context, _ string, do func(string) error) error {
			all, err := leases.List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, lease := range all.Items {
				if err := do(lease.Name); err != nil {
					return err
				}
			}
			return nil
		},
		Delete: func(ctx context.Context, name string) (bool, error) {
			err := leases.Delete(ctx, name, metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		},
	})
	if err != nil {
		err = fmt.Errorf("namespace %s: %w", l.namespace, err)
	}
	return err
}
