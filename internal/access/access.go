// Package access knows how to reach an external service: with TLS or without, and with which
// login. It keeps the names of files and environment variables that hold secrets, never a
// secret, so that an Access may be recorded and passed on. It imports no package of picklock.
package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// Access is how to reach one service. The zero value is a service without TLS and without
// authentication.
type Access struct {
	TLS bool `json:"tls,omitempty" yaml:"tls"`
	// CA is a file of the certificates that may have signed the servers', "" for this
	// system's; Cert and Key are files of the client's own, "" for none.
	CA   string `json:"ca,omitempty" yaml:"ca"`
	Cert string `json:"cert,omitempty" yaml:"cert"`
	Key  string `json:"key,omitempty" yaml:"key"`
	// ServerName is what the servers' certificates are for, "" for the host by which each
	// is called.
	ServerName string `json:"server_name,omitempty" yaml:"server_name"`

	Username string `json:"username,omitempty" yaml:"username"`
	// PasswordEnv is the environment variable with the password, PasswordFile a file
	// that does; "" for neither.
	PasswordEnv  string `json:"password_env,omitempty" yaml:"password_env"`
	PasswordFile string `json:"password_file,omitempty" yaml:"password_file"`
	// Database is the part of the service to use, where it has several; "" for its usual.
	Database string `json:"database,omitempty" yaml:"database"`
}

// Variables are the environment variables from which FromEnv takes an Access.
var Variables = []string{
	"PICKLOCK_TLS", "PICKLOCK_TLS_CA", "PICKLOCK_TLS_CERT", "PICKLOCK_TLS_KEY", "PICKLOCK_TLS_SERVER_NAME",
	"PICKLOCK_USERNAME", "PICKLOCK_PASSWORD", "PICKLOCK_PASSWORD_FILE", "PICKLOCK_DATABASE",
}

// passwordVariable is that of Variables which has a secret.
const passwordVariable = "PICKLOCK_PASSWORD"

// FromEnv reads an Access from the environment.
func FromEnv() (Access, error) {
	a := Access{
		CA: os.Getenv("PICKLOCK_TLS_CA"), Cert: os.Getenv("PICKLOCK_TLS_CERT"), Key: os.Getenv("PICKLOCK_TLS_KEY"),
		ServerName: os.Getenv("PICKLOCK_TLS_SERVER_NAME"), Username: os.Getenv("PICKLOCK_USERNAME"),
		PasswordFile: os.Getenv("PICKLOCK_PASSWORD_FILE"), Database: os.Getenv("PICKLOCK_DATABASE"),
	}
	switch text := os.Getenv("PICKLOCK_TLS"); text {
	case "on", "yes", "true", "1":
		a.TLS = true
	case "":
		a.TLS = a.CA != "" || a.Cert != "" || a.ServerName != "" // they imply TLS
	case "off", "no", "false", "0":
	default:
		return a, fmt.Errorf("PICKLOCK_TLS=%s: want on or off", text)
	}
	if os.Getenv(passwordVariable) != "" {
		a.PasswordEnv = passwordVariable
	}
	return a, a.Check()
}

// Check returns an error for what contradicts itself or is not there.
func (a Access) Check() error {
	if a.PasswordEnv != "" && a.PasswordFile != "" {
		return errors.New("the password is in a file or in an environment variable: want one of them")
	}
	if !a.TLS && (a.CA != "" || a.Cert != "" || a.Key != "" || a.ServerName != "") {
		return errors.New("there are certificates, or their names, and TLS is off")
	}
	if _, err := a.Config("localhost"); err != nil {
		return err
	}
	_, err := a.Password()
	return err
}

// Config is the configuration of TLS with a server of this name; nil without TLS.
func (a Access) Config(host string) (*tls.Config, error) {
	if !a.TLS {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if a.ServerName != "" {
		c.ServerName = a.ServerName
	}
	if a.CA != "" {
		text, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, fmt.Errorf("read the signers' certificates: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", a.CA)
		}
	}
	if (a.Cert == "") != (a.Key == "") {
		return nil, errors.New("a client's certificate needs its key, and the other way round")
	}
	if a.Cert != "" {
		own, err := tls.LoadX509KeyPair(a.Cert, a.Key)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}

// Password reads the password; "" for none.
func (a Access) Password() (string, error) {
	switch {
	case a.PasswordEnv != "":
		secret := os.Getenv(a.PasswordEnv)
		if secret == "" {
			return "", fmt.Errorf("the environment has no %s, which is to hold the password", a.PasswordEnv)
		}
		return secret, nil
	case a.PasswordFile != "":
		text, err := os.ReadFile(a.PasswordFile)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return strings.TrimRight(string(text), "\r\n"), nil
	}
	return "", nil
}

// Host is the host of a server's address.
func Host(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}
