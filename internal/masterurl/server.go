package masterurl

import (
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// Server is the same for two addresses if they are spelled differently and can only mean one
// server: names of this host's loopback, letters in upper case, a dot at the end, other forms of an
// IP address. It asks nobody, so that two names which DNS gives one host stay two.
func Server(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil { // a socket
		return filepath.Clean(address)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", ip == netip.IPv6Loopback(): // a server that listens on both loopbacks is the usual one
		host = "127.0.0.1"
	case err == nil:
		host = ip.Unmap().String()
	}
	return net.JoinHostPort(host, port)
}
