package masterurl

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// The parameters of a rediss:// URL that name files.
const (
	ParamCA   = "tls_ca"
	ParamCert = "tls_cert"
	ParamKey  = "tls_key"
)

// Files are those that TLS needs, in PEM form; "" is none.
type Files struct {
	CA   string // certificates to trust, instead of the system's
	Cert string // of the client, and of who signed it, if the server does not know them
	Key  string // the private key to it
}

// FileError tells that a file is not what its parameter needs.
type FileError struct {
	Parameter string // ParamCA, ParamCert or ParamKey
	File      string
	Rule      string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("invalid %s %s: %s", e.Parameter, e.File, e.Rule)
}

// Check reads the files, and reports what is wrong with them. The error is a *FileError.
func (f Files) Check() error { return f.addTo(&tls.Config{}) }

// takeFiles takes the files out of the query of a URL, or tells what is wrong.
func takeFiles(scheme string, query url.Values) (f Files, fault string) {
	for _, p := range []struct {
		name string
		file *string
	}{{ParamCA, &f.CA}, {ParamCert, &f.Cert}, {ParamKey, &f.Key}} {
		given, ok := query[p.name]
		switch {
		case !ok:
			continue
		case scheme != "rediss":
			return f, fmt.Sprintf("its parameter %s is for rediss:// only", p.name)
		case len(given) != 1 || given[0] == "":
			return f, fmt.Sprintf("its parameter %s does not name one file", p.name)
		}
		*p.file = given[0]
		query.Del(p.name)
	}
	return f, ""
}

// addTo reads the files into a configuration.
func (f Files) addTo(c *tls.Config) error {
	if f.CA != "" {
		text, err := read(ParamCA, f.CA)
		if err != nil {
			return err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return &FileError{ParamCA, f.CA, "has no certificate in PEM form"}
		}
	}
	switch {
	case f.Cert == "" && f.Key == "":
		return nil
	case f.Key == "":
		return &FileError{ParamCert, f.Cert, "must come with the file of its private key"}
	case f.Cert == "":
		return &FileError{ParamKey, f.Key, "must come with the file of its certificate"}
	}
	cert, err := read(ParamCert, f.Cert)
	if err != nil {
		return err
	}
	if block, _ := pem.Decode(cert); block == nil {
		return &FileError{ParamCert, f.Cert, "has no certificate in PEM form"}
	}
	key, err := read(ParamKey, f.Key)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return &FileError{ParamKey, f.Key, fmt.Sprintf("must be the private key of the certificate in %s, without a password: %s", f.Cert, strings.TrimPrefix(err.Error(), "tls: "))}
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

// with returns the configuration with what the files have now: certificates are renewed on disk
// while programs run. The error is a *FileError.
func (f Files) with(c *tls.Config) (*tls.Config, error) {
	c = c.Clone()
	return c, f.addTo(c)
}

func read(parameter, file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	if err != nil {
		return nil, &FileError{parameter, file, "cannot be read: " + err.Error()}
	}
	return text, nil
}

// TLSError tells that client and server do not trust each other. It is no use to try again before
// somebody has changed a file or a server. It has no Unwrap, because go-redis unwraps once what it
// gets while it sets a connection up.
type TLSError struct {
	why string
	err error
}

func (e *TLSError) Error() string { return e.why + ": " + e.err.Error() }

// explained adds to what goes wrong with a connection which file it is about.
func (f Files) explained(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, f.explain(err)
	}
	return &explainedConn{conn.(*tls.Conn), f}, nil
}

// explainedConn is a connection whose server may refuse the client's certificate with its first
// answer, as in TLS 1.3, where the client is through with the handshake before.
type explainedConn struct {
	*tls.Conn
	files Files
}

func (c *explainedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.files.explain(err)
}

// Write finds out whether the server hung up because of the certificate: it says so before.
func (c *explainedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		if _, why := c.Read(make([]byte, 1)); isTLSError(why) { // it does not block: the connection has ended
			err = why
		}
	}
	return n, err
}

func isTLSError(err error) bool {
	_, is := errors.AsType[*TLSError](err)
	return is
}

// explain returns err, as a *TLSError if certificates are the reason.
func (f Files) explain(err error) error {
	if err == nil {
		return nil
	}
	_, untrusted := errors.AsType[x509.UnknownAuthorityError](err)
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	alert, _ := errors.AsType[*net.OpError](err)
	switch {
	case untrusted && f.CA == "":
		return &TLSError{"this system does not trust the server's certificate: name the file of its CA with " + ParamCA, err}
	case untrusted:
		return &TLSError{"the server's certificate is not from the CA in " + f.CA, err}
	case unverified:
		return &TLSError{"the server's certificate is not valid for it", err}
	case noTLS:
		return &TLSError{"the server does not speak TLS on this port", err}
	case alert != nil && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate"):
		if f.Cert == "" {
			return &TLSError{fmt.Sprintf("the server wants a client certificate: name its files with %s and %s", ParamCert, ParamKey), err}
		}
		return &TLSError{"the server refuses the certificate in " + f.Cert, err}
	}
	return err
}
