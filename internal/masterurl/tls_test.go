package masterurl_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/testpki"
)

// What is wrong with a file is told at once, with its parameter and its path.
func TestFiles(t *testing.T) {
	t.Parallel()
	ca := testpki.New(t)
	cert, key := ca.Issue("client")
	_, otherKey := ca.Issue("other")
	noPEM := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(noPEM, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	const missing = "/no/such/file"
	for _, c := range []struct {
		files                 masterurl.Files
		parameter, file, says string
	}{
		{masterurl.Files{}, "", "", ""},
		{masterurl.Files{CA: ca.File}, "", "", ""},
		{masterurl.Files{CA: ca.File, Cert: cert, Key: key}, "", "", ""},
		{masterurl.Files{Cert: cert, Key: key}, "", "", ""},
		{masterurl.Files{CA: missing}, "tls_ca", missing, "no such file"},
		{masterurl.Files{CA: noPEM}, "tls_ca", noPEM, "no certificate"},
		{masterurl.Files{CA: key}, "tls_ca", key, "no certificate"},
		{masterurl.Files{Cert: cert}, "tls_cert", cert, "must come with the file of its private key"},
		{masterurl.Files{Key: key}, "tls_key", key, "must come with the file of its certificate"},
		{masterurl.Files{Cert: missing, Key: key}, "tls_cert", missing, "no such file"},
		{masterurl.Files{Cert: noPEM, Key: key}, "tls_cert", noPEM, "no certificate"},
		{masterurl.Files{Cert: cert, Key: missing}, "tls_key", missing, "no such file"},
		{masterurl.Files{Cert: cert, Key: noPEM}, "tls_key", noPEM, cert},
		{masterurl.Files{Cert: cert, Key: otherKey}, "tls_key", otherKey, "private key does not match"},
	} {
		query := url.Values{}
		for name, file := range map[string]string{masterurl.ParamCA: c.files.CA, masterurl.ParamCert: c.files.Cert, masterurl.ParamKey: c.files.Key} {
			if file != "" {
				query.Set(name, file)
			}
		}
		o, err := masterurl.Parse("rediss://:p@127.0.0.1:1/2?client_name=n&" + query.Encode())
		if c.parameter == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.files, err)
			} else if (o.TLSConfig.RootCAs != nil) != (c.files.CA != "") || len(o.TLSConfig.Certificates) > 0 != (c.files.Cert != "") ||
				o.Password != "p" || o.DB != 2 || o.ClientName != "n" || o.TLSConfig.ServerName != "127.0.0.1" {
				t.Errorf("%+v: got %+v with %+v", c.files, o, o.TLSConfig)
			}
			continue
		}
		fault, ok := errors.AsType[*masterurl.FileError](err)
		if !ok || fault.Parameter != c.parameter || fault.File != c.file || !strings.Contains(fault.Rule, c.says) {
			t.Errorf("%+v: got %v, want %s, %s and %q", c.files, err, c.parameter, c.file, c.says)
		}
	}
}

func TestFilesOfAURL(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"redis://h?tls_ca=/a":            "its parameter tls_ca is for rediss:// only",
		"unix:///s?tls_key=/a":           "its parameter tls_key is for rediss:// only",
		"rediss://h?tls_cert=":           "its parameter tls_cert does not name one file",
		"rediss://h?tls_ca=/a&tls_ca=/b": "its parameter tls_ca does not name one file",
		"rediss://h?tls_CA=/a":           "has a parameter that is not known",
	} {
		if _, err := masterurl.Parse(text); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%q: got %v, want %q", text, err, says)
		}
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rediss://u:p@h?tls_ca=/a": "h:6379",
		"redis://h:1/2?db=1":       "h:1",
		"unix:///run/redis.sock":   "/run/redis.sock",
	} {
		if got, err := masterurl.Address(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	if _, err := masterurl.Address("redis://:hunter2/et@h"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
