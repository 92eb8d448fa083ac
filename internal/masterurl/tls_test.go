package masterurl_test

import (
	"crypto/tls"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/testpki"
)

// A bad file is reported at once, with its parameter and its path.
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
		parameter, file, want string
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
			} else if o.Password != "p" || o.DB != 2 || o.ClientName != "n" || o.TLSConfig.ServerName != "127.0.0.1" {
				t.Errorf("%+v: got %+v with %+v", c.files, o, o.TLSConfig)
			}
			continue
		}
		fault, ok := errors.AsType[*masterurl.FileError](err)
		if !ok || fault.Parameter != c.parameter || fault.File != c.file || !strings.Contains(fault.Rule, c.want) {
			t.Errorf("%+v: got %v, want %s, %s and %q", c.files, err, c.parameter, c.file, c.want)
		}
	}
}

// Each connection uses the current contents of the files. If these are bad, only this dial fails.
func TestFilesAreReadPerConnection(t *testing.T) {
	t.Parallel()
	first, second := testpki.New(t), testpki.New(t)
	dir := t.TempDir()
	files := masterurl.Files{CA: filepath.Join(dir, "ca"), Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	put := func(from, to string) {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	renew := func(ca *testpki.CA, name string) {
		cert, key := ca.Issue(name)
		put(cert, files.Cert)
		put(key, files.Key)
	}
	seen := make(chan string, 10) // the client's name as the server sees it; "" without a handshake
	serve := func(ca *testpki.CA) (addr string) {
		pair, err := tls.LoadX509KeyPair(ca.Issue("server"))
		if err != nil {
			t.Fatal(err)
		}
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
				who := ""
				if secure := conn.(*tls.Conn); secure.Handshake() == nil {
					who = secure.ConnectionState().PeerCertificates[0].Subject.CommonName
				}
				seen <- who
				_ = conn.Close()
			}
		}()
		return l.Addr().String()
	}
	servers := map[*testpki.CA]string{first: serve(first), second: serve(second)}
	put(first.File, files.CA)
	renew(first, "old")
	o, err := masterurl.Parse("rediss://127.0.0.1:1?" + url.Values{masterurl.ParamCA: {files.CA}, masterurl.ParamCert: {files.Cert}, masterurl.ParamKey: {files.Key}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		claim  string
		change func()
		server *testpki.CA
		who    string
		file   string // the file because of which the dial fails; "": the dial does not fail because of a file
		want   string
	}{
		{"at first", func() {}, first, "old", "", ""},
		{"the pair was renewed", func() { renew(first, "new") }, first, "new", "", ""},
		{"the key is not there yet", func() { _ = os.Remove(files.Key) }, first, "", files.Key, "no such file"},
		{"it is another's", func() { _, key := first.Issue("other"); put(key, files.Key) }, first, "", files.Key, "must be the private key"},
		{"the pair is whole again", func() { renew(first, "third") }, first, "third", "", ""},
		{"the server has another CA", func() {}, second, "", "", "is not from the CA in " + files.CA},
		{"so has the file", func() { put(second.File, files.CA) }, second, "third", "", ""},
		{"the file of the CA is empty", func() { _ = os.Truncate(files.CA, 0) }, second, "", files.CA, "no certificate"},
	} {
		x.change()
		conn, err := o.Dialer(t.Context(), "tcp", servers[x.server])
		who := ""
		if x.file == "" { // otherwise no dial was made
			who = <-seen
		}
		if err == nil {
			_ = conn.Close()
		}
		fault, _ := errors.AsType[*masterurl.FileError](err)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) || who != x.who || (fault != nil) != (x.file != "") || fault != nil && fault.File != x.file {
			t.Errorf("%s: the server sees %q, want %q; the dial fails with %v, want %q about %q", x.claim, who, x.who, err, x.want, x.file)
		}
	}
}

func TestURLFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"redis://h?tls_ca=/a":            "its parameter tls_ca is for rediss:// only",
		"unix:///s?tls_key=/a":           "its parameter tls_key is for rediss:// only",
		"rediss://h?tls_cert=":           "its parameter tls_cert does not name one file",
		"rediss://h?tls_ca=/a&tls_ca=/b": "its parameter tls_ca does not name one file",
		"rediss://h?tls_CA=/a":           "has a parameter that is not known",
	} {
		if _, err := masterurl.Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
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
