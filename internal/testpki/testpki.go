// Package testpki makes certificates for tests.
package testpki

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

// CA signs certificates. Its own certificate is in File.
type CA struct {
	File string

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes a CA that is valid for an hour.
func New(t testing.TB) *CA {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	ca := &CA{t: t, cert: cert, key: key, File: filepath.Join(t.TempDir(), "ca.pem")}
	write(t, ca.File, "CERTIFICATE", der)
	return ca
}

// Issue makes a certificate for 127.0.0.1, for a server or a client, and returns its file and the file
// of its key.
func (ca *CA) Issue(name string) (cert, key string) {
	ca.t.Helper()
	k := newKey(ca.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, k.Public(), ca.key)
	must(ca.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(k)
	must(ca.t, err)
	dir := ca.t.TempDir()
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	write(ca.t, cert, "CERTIFICATE", der)
	write(ca.t, key, "PRIVATE KEY", private)
	return cert, key
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func write(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
