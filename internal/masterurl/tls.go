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

// Files are the files for TLS, in PEM form; "" means none.
type Files struct {
	CA   string // certificates to trust, instead of the system's
	Cert string // the client's certificate, and the certificates of its issuers that the server lacks
	Key  string // the private key of the client's certificate
}

// FileError is returned for a file that does not fit its parameter.
type FileError struct {
	Parameter string // ParamCA, ParamCert or ParamKey
	File      string
	Rule      string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("invalid %s %s: %s", e.Parameter, e.File, e.Rule)
}

// Check reads the files, and returns a *FileError about the first bad one.
func (f Files) Check() error { return f.addTo(&tls.Config{}) }

// takeFiles removes the parameters that name files from a URL's query. It returns the files' names, or a fault.
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

// addTo adds the contents of the files to a configuration.
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

// with() reads the files, and returns a copy of c to which their contents are added. Each dial calls it, because
// certificates are renewed on disk while programs run. The error is a *FileError.
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

// TLSError means that client and server do not trust each other. A retry fails until a file or a server has
// changed. TLSError has no Unwrap: go-redis unwraps the error of a connection once, and would drop the text in why.
type TLSError struct {
	why string
	err error
}

func (e *TLSError) Error() string { return e.why + ": " + e.err.Error() }

// explained takes the results of a dial (conn, err), and returns them with explained errors: if a file is the
// cause of err, or of a later error of conn, the error names this file.
func (f Files) explained(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, f.explain(err)
	}
	return &explainedConn{conn.(*tls.Conn), f}, nil
}

// explainedConn is a connection that explains the errors of TLS. In TLS 1.3 the client's handshake, and so the dial,
// ends before the server has checked the client's certificate. The server's first answer may then refuse the
// certificate.
type explainedConn struct {
	*tls.Conn
	files Files
}

func (c *explainedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.files.explain(err)
}

// Write writes p. If the connection was closed, Write reads the server's alert, which may refuse the certificate.
func (c *explainedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		if _, why := c.Read(make([]byte, 1)); isTLSError(why) { // does not block: the connection has ended
			err = why
		}
	}
	return n, err
}

func isTLSError(err error) bool {
	_, is := errors.AsType[*TLSError](err)
	return is
}

// explain returns err, or a *TLSError if TLS or a certificate is the reason for err.
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
