package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificate makes a certificate for a server on this machine's loopback, and returns the
// files of its authority, of itself and of its key, which only their owner may read.
func Certificate(t testing.TB) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, content []byte, err error) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	made := func(public any, by *x509.Certificate, key *ecdsa.PrivateKey, c *x509.Certificate) []byte {
		t.Helper()
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, c, by, public, key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer of a test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca = write("ca.pem", "CERTIFICATE", made(signer.Public(), root, signer, root), nil)
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert = write("cert.pem", "CERTIFICATE", made(own.Public(), root, signer, leaf), nil)
	der, err := x509.MarshalPKCS8PrivateKey(own)
	return ca, cert, write("key.pem", "PRIVATE KEY", der, err)
}
