package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/redlock-go/redlock/internal/masterurl"
)

// access holds the flags for reaching the masters. Values in the URL of a master override them.
type access struct {
	TLSCA        string `name:"tls-ca" placeholder:"FILE" help:"Trust the certificates in FILE (PEM) instead of the system's. All masters must be rediss:// then. ?tls_ca=, &tls_cert= and &tls_key= in a master's URL override these flags for this master."`
	TLSCert      string `name:"tls-cert" placeholder:"FILE" help:"The client certificate (PEM), with --tls-key."`
	TLSKey       string `name:"tls-key" placeholder:"FILE" help:"The private key of --tls-cert (PEM)."`
	User         string `placeholder:"NAME" help:"The user of --password-file for URLs that name none. Default: the user default of Redis."`
	PasswordFile string `placeholder:"FILE" help:"The password for all masters whose URL has none. A newline at the end of FILE is ignored."`

	password string
}

// load reads the files that the flags name, and returns all faults of flags and files.
func (a *access) load() error {
	var errs []error
	err := masterurl.Files{CA: a.TLSCA, Cert: a.TLSCert, Key: a.TLSKey}.Check()
	if file, ok := errors.AsType[*masterurl.FileError](err); ok {
		errs = append(errs, fmt.Errorf("--%s is %s: %s", strings.ReplaceAll(file.Parameter, "_", "-"), file.File, file.Rule))
	}
	if a.User != "" && a.PasswordFile == "" {
		errs = append(errs, fmt.Errorf("--user is %q: it needs --password-file; else give user and password in the URLs", a.User))
	}
	if a.PasswordFile != "" {
		if a.password, err = secretFrom("--password-file", a.PasswordFile); err != nil {
			errs = append(errs, fmt.Errorf("--password-file is %s: %w", a.PasswordFile, err))
		}
	}
	return errors.Join(errs...)
}

// secretFrom returns the password or token in the file of a flag. It warns if other users can read the file.
func secretFrom(flag, file string) (string, error) {
	f, err := os.Open(file)
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	if err != nil {
		return "", fmt.Errorf("it cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return "", fmt.Errorf("it cannot be read: %w", err)
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0 {
		complain(fmt.Errorf("warning: others can read %s %s (its mode is %#o): chmod 600 it", flag, file, info.Mode().Perm()))
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", fmt.Errorf("it is empty: it must have the %s", strings.TrimSuffix(strings.TrimPrefix(flag, "--"), "-file"))
	}
	return secret, nil
}

// given returns the first flag of access that is set, or "".
func (a *access) given() string {
	for _, flag := range []struct{ name, value string }{
		{"--tls-ca", a.TLSCA}, {"--tls-cert", a.TLSCert}, {"--tls-key", a.TLSKey}, {"--user", a.User}, {"--password-file", a.PasswordFile},
	} {
		if flag.value != "" {
			return flag.name
		}
	}
	return ""
}

// complete returns the URL of a master, and adds the values of the flags where the URL has none of its own. A URL that
// it cannot parse stays unchanged, because redlock.Open reports such a URL. In errors, the parameter
// what replaces the URL.
func (a *access) complete(what, text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || a.given() == "" {
		return text, nil
	}
	if tls := (&access{TLSCA: a.TLSCA, TLSCert: a.TLSCert}).given(); tls != "" && u.Scheme != "rediss" {
		return text, fmt.Errorf("%s is no rediss:// URL: it must be one with %s; give the files in the URLs if only some masters have TLS", what, tls)
	}
	if own, _ := u.User.Password(); a.password != "" && own == "" {
		user := a.User
		if name := u.User.Username(); name != "" {
			user = name
		}
		u.User = url.UserPassword(user, a.password)
	}
	query := u.Query()
	own := query.Has(masterurl.ParamCert) || query.Has(masterurl.ParamKey)
	if a.TLSCA != "" && !query.Has(masterurl.ParamCA) {
		query.Set(masterurl.ParamCA, a.TLSCA)
	}
	if a.TLSCert != "" && !own {
		query.Set(masterurl.ParamCert, a.TLSCert)
		query.Set(masterurl.ParamKey, a.TLSKey)
	}
	if len(query) > 0 {
		u.RawQuery = query.Encode()
	}
	return u.String(), nil
}
