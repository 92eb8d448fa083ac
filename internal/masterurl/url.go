package masterurl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// form describes a valid URL of a master, for errors.
const form = "must be redis://user:password@host:port/db, rediss:// for TLS, or unix:///path/to/socket, with what is special in a password percent-encoded"

// noScheme is the fault of an address without a scheme.
const noScheme = "does not begin with redis:// or rediss://"

// noBrackets is the fault of an IPv6 address without brackets: its last number may be a port, or not.
const noBrackets = "it has an IPv6 address without brackets, where redis://[::1]:6379 would be right"

// bareIPv6 matches a URL whose host has at least two colons, and no bracket.
var bareIPv6 = regexp.MustCompile(`^\w+://(?:[^/?#]*@)?[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:%[^/?#]*)?(?:[/?#]|$)`)

// Parse parses the URL of a master. It is stricter than redis.ParseURL, which parses
// "redis:user:password@host" as localhost. Parse reads the files that the URL names. The dialer in the
// options reads these files again for each connection.
//
// An error about a file is a *FileError. Other errors quote nothing from the URL, because an invalid
// URL may have a password in any part.
func Parse(text string) (*redis.Options, error) {
	bad := func(fault string) (*redis.Options, error) { return nil, errors.New(fault + ": " + form) }
	u, err := url.Parse(text)
	if bareIPv6.MatchString(text) { // newer versions of Go refuse to parse it
		return bad(noBrackets)
	}
	if err != nil && !strings.Contains(text, "://") { // for example 10.0.0.1:6379
		return bad(noScheme)
	}
	if err != nil {
		return bad("cannot be parsed")
	}
	if fault := faultOfURL(u, text); fault != "" {
		return bad(fault)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("its query cannot be parsed")
	}
	files, fault := takeFiles(u.Scheme, query)
	if fault != "" {
		return bad(fault)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if parameter(u.Scheme, name, "") != nil {
			return bad("has a parameter that is not known")
		}
		if parameter(u.Scheme, name, query.Get(name)) != nil {
			return bad(fmt.Sprintf("its parameter %s cannot have this value", name))
		}
	}
	u.RawQuery = query.Encode()
	addPort(u)
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return bad("cannot be parsed")
	}
	if fault := faultOfNumbers(o); fault != "" {
		return bad(fault)
	}
	if o.TLSConfig != nil {
		if err := files.Check(); err != nil {
			return nil, err
		}
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			now := *o
			var err error
			if now.TLSConfig, err = files.with(o.TLSConfig); err != nil {
				return nil, err
			}
			return files.explained(redis.NewDialer(&now)(ctx, network, addr))
		}
	}
	return o, nil
}

// Address returns the canonical address of the server at a URL. It reads no file.
func Address(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("cannot be parsed: " + form)
	}
	u.RawQuery = ""
	addPort(u)
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return "", errors.New("cannot be parsed: " + form)
	}
	return o.Addr, nil
}

// addPort adds the default port to an IPv6 address without a port. Otherwise go-redis would put a second
// pair of brackets around the address.
func addPort(u *url.URL) {
	if strings.HasSuffix(u.Host, "]") {
		u.Host += ":6379"
	}
}

// parameter returns the error of redis.ParseURL for a URL that has only this parameter, or nil.
func parameter(scheme, name, value string) error {
	alone := url.URL{Scheme: scheme, Host: "host", Path: "/", RawQuery: url.Values{name: {value}}.Encode()}
	_, err := redis.ParseURL(alone.String())
	return err
}

// faultOfURL returns what is wrong with a URL, apart from its query; "" if nothing is.
func faultOfURL(u *url.URL, text string) string {
	known := u.Scheme == "redis" || u.Scheme == "rediss" || u.Scheme == "unix"
	switch {
	case !known && !strings.Contains(text, "://"):
		return noScheme
	case !known:
		return "its scheme is none of redis, rediss and unix"
	case u.Opaque != "":
		return "there is no // after its scheme"
	case strings.Contains(text, "#"):
		return "has a fragment"
	case u.Scheme == "unix" && (u.Host != "" || strings.TrimSpace(u.Path) == ""):
		return "does not name the path of a socket"
	case u.Scheme == "unix":
		return ""
	case u.Hostname() == "":
		return "names no host"
	case strings.Contains(u.Host, ","):
		return "names more than one host"
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && err != nil {
		return "its port is not a number up to 65535"
	}
	db := strings.Trim(u.Path, "/")
	if _, err := strconv.ParseUint(db, 10, 31); db != "" && err != nil {
		return "its path is not the number of a database"
	}
	return ""
}

// faultOfNumbers returns which parameter has a useless value; "" if none has. go-redis accepts these
// values, but then panics, ignores the value, or never connects.
func faultOfNumbers(o *redis.Options) string {
	for _, p := range []struct {
		name  string
		value int
	}{
		{"db", o.DB},
		{"pool_size", o.PoolSize},
		{"min_idle_conns", o.MinIdleConns},
		{"max_idle_conns", o.MaxIdleConns},
		{"max_active_conns", o.MaxActiveConns},
		{"max_concurrent_dials", o.MaxConcurrentDials},
	} {
		if p.value < 0 {
			return fmt.Sprintf("its parameter %s is below 0", p.name)
		}
	}
	if o.DialTimeout < 0 {
		return "its parameter dial_timeout is not above 0"
	}
	return ""
}
