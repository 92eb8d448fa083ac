package masterurl

import (
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// Server returns a text that identifies the server at an address. Two addresses get the same text if they
// differ only in the name of this host's loopback, in upper and lower case, in a dot at the end, or in
// the form of an IP address. Server does not ask DNS, so two DNS names of one host get different texts.
func Server(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil { // a socket
		return filepath.Clean(address)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", ip == netip.IPv6Loopback(): // a server usually listens on both loopbacks
		host = "127.0.0.1"
	case err == nil:
		host = ip.Unmap().String()
	}
	return net.JoinHostPort(host, port)
}
