package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testpki"
	"github.com/redlock-go/redlock/internal/testskip"
)

// tlsMaster starts a redis-server that asks for a client certificate, and returns its rediss://
// URL.
func tlsMaster(t *testing.T, ca *testpki.CA, more map[string]string) string {
	t.Helper()
	cert, key := ca.Issue("server")
	port := unusedPort(t)
	conf := map[string]string{
		"tls-port": port, "tls-cert-file": cert, "tls-key-file": key, "tls-ca-cert-file": ca.File, "tls-auth-clients": "yes",
	}
	for name, value := range more {
		conf[name] = value
	}
	masterWith(t, redisproc.Config{Conf: conf})
	return "rediss://127.0.0.1:" + port
}

// masterWith starts a redis-server with this configuration.
func masterWith(t *testing.T, cfg redisproc.Config) *redisproc.Server {
	t.Helper()
	s, err := redisproc.Start(cfg)
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, s.Stop()) })
	return s
}

// unusedPort is one that was free a moment ago.
func unusedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

func writeFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	harness.Must(t, os.WriteFile(file, []byte(text), 0o600))
	harness.Must(t, os.Chmod(file, mode))
	return file
}

// TLS works by flags and by parameters, and what is wrong with it is told at once, with the file: a
// command does not wait for the lock in vain.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca, wrong := testpki.New(t), testpki.New(t)
	cert, key := ca.Issue("client")
	wrongCert, wrongKey := wrong.Issue("stranger")
	master := tlsMaster(t, ca, nil)
	with := func(ca, cert, key string) string {
		return master + "?" + url.Values{"tls_ca": {ca}, "tls_cert": {cert}, "tls_key": {key}}.Encode()
	}
	masters := "--masters=" + master
	right := []string{masters, "--tls-ca", ca.File, "--tls-cert", cert, "--tls-key", key}
	initialise(t, right...)
	for what, flags := range map[string][]string{
		"flags":                         right,
		"parameters":                    {"--masters=" + with(ca.File, cert, key)},
		"parameters go before flags":    {"--masters=" + with(ca.File, cert, key), "--tls-ca", wrong.File, "--tls-cert", wrongCert, "--tls-key", wrongKey},
		"a CA by flag, the rest by URL": {"--masters=" + master + "?" + url.Values{"tls_cert": {cert}, "tls_key": {key}}.Encode(), "--tls-ca", ca.File},
	} {
		redlockEnds(t, append(append([]string{"run", "--name=a"}, flags...), "--", "true")...).wants(t, exitOK)
		redlockEnds(t, append([]string{"members"}, flags...)...).wants(t, exitOK)
		t.Log(what)
	}
	for _, c := range []struct {
		what   string
		flags  []string
		status int
		says   []string
	}{
		{"no CA", []string{masters, "--tls-cert", cert, "--tls-key", key}, exitUnavailable, []string{"this system does not trust", "name the file of its CA with --tls-ca: "}},
		{"a wrong CA", []string{masters, "--tls-ca", wrong.File, "--tls-cert", cert, "--tls-key", key}, exitUnavailable, []string{"not from the CA in " + wrong.File, "unknown authority"}},
		{"no client certificate", []string{masters, "--tls-ca", ca.File}, exitUnavailable, []string{"wants a client certificate", "with --tls-cert and --tls-key"}},
		{"a stranger's certificate", []string{masters, "--tls-ca", ca.File, "--tls-cert", wrongCert, "--tls-key", wrongKey}, exitUnavailable, []string{"refuses the certificate in " + wrongCert}},
		{"a name that is not the server's", []string{strings.Replace(masters, "127.0.0.1", "localhost", 1), "--tls-ca", ca.File}, exitUnavailable, []string{"is not valid for it", "localhost"}},
		{"a key that does not fit", []string{masters, "--tls-cert", cert, "--tls-key", wrongKey}, exitUsage, []string{"--tls-key is " + wrongKey, cert, "does not match"}},
		{"a key that does not fit, in the URL", []string{"--masters=" + with(ca.File, cert, wrongKey)}, exitUsage, []string{"invalid tls_key of place 1 of --masters " + wrongKey}},
		{"a file that is not there", []string{masters, "--tls-ca=/no/such/file"}, exitUsage, []string{"--tls-ca is /no/such/file: cannot be read: no such file"}},
		{"no TLS in the URL", []string{"--masters=redis://h," + master, "--tls-ca", ca.File}, exitUsage, []string{"place 1 of --masters is no rediss:// URL", "--tls-ca"}},
	} {
		r := redlockEnds(t, append(append([]string{"run", "--name=a"}, c.flags...), "--", "true")...)
		r.wants(t, c.status)
		says(t, c.what, r.stderr, c.says...)
	}
}

// A server that joins is reached as the masters are.
func TestAServerThatJoinsGetsTheFlags(t *testing.T) {
	t.Parallel()
	ca := testpki.New(t)
	cert, key := ca.Issue("client")
	closed := map[string]string{"requirepass": `"pass word"`}
	urls := []string{tlsMaster(t, ca, closed), tlsMaster(t, ca, closed), tlsMaster(t, ca, closed), tlsMaster(t, ca, closed)}
	flags := []string{"--masters=" + strings.Join(urls[:3], ","), "--tls-ca", ca.File, "--tls-cert", cert, "--tls-key", key, "--password-file", writeFile(t, "pass word\n", 0o600)}
	initialise(t, append([]string{"--max-ttl=1s"}, flags...)...)
	redlockEnds(t, append([]string{"members", "add", urls[3]}, flags...)...).wants(t, exitOK)
}

func TestPasswordFile(t *testing.T) {
	t.Parallel()
	s := masterWith(t, redisproc.Config{Conf: map[string]string{"requirepass": `"a,b/@ c"`}})
	masters := "--masters=" + s.URL()
	good := writeFile(t, "a,b/@ c\n", 0o600)
	initialise(t, masters, "--password-file", good)
	ofAnother := writeFile(t, "another's", 0o600)
	own := "--masters=redis://:" + url.QueryEscape("a,b/@") + "%20c@" + s.Addr()
	for _, c := range []struct {
		flags  []string
		status int
		says   string
	}{
		{[]string{masters, "--password-file", good}, exitOK, ""},
		{[]string{masters, "--password-file", writeFile(t, "a,b/@ c", 0o600)}, exitOK, ""},
		{[]string{masters, "--password-file", good, "--user=default"}, exitOK, ""},
		{[]string{"--masters=redis://default@" + s.Addr(), "--password-file", good, "--user=nobody"}, exitOK, ""},
		{[]string{own, "--password-file", ofAnother}, exitOK, ""},
		{[]string{masters, "--password-file", writeFile(t, "a,b/@ c\n", 0o644)}, exitOK, "warning: others can read --password-file "},
		{[]string{masters, "--password-file", good, "--user=nobody"}, exitUnavailable, "WRONGPASS"},
		{[]string{masters, "--password-file", writeFile(t, "a,b/@ c\n\n", 0o600)}, exitUnavailable, "WRONGPASS"},
		{[]string{masters, "--password-file", writeFile(t, "\n", 0o600)}, exitUsage, "it is empty"},
		{[]string{masters, "--password-file", "/no/such/file"}, exitUsage, "--password-file is /no/such/file: it cannot be read: no such file"},
		{[]string{masters, "--password-file", t.TempDir()}, exitUsage, "it cannot be read"},
		{[]string{own, "--user=default"}, exitUsage, `--user is "default": it needs --password-file`},
	} {
		r := redlockEnds(t, append([]string{"members"}, c.flags...)...)
		r.wants(t, c.status)
		says(t, fmt.Sprint(c.flags), r.stderr, c.says)
		if c.status == exitOK && c.says == "" && r.stderr != "" {
			t.Errorf("%q: stderr %q", c.flags, r.stderr)
		}
		if strings.Contains(r.stdout+r.stderr, "a,b") {
			t.Errorf("%q: the password is printed: %s%s", c.flags, r.stdout, r.stderr)
		}
	}
}
