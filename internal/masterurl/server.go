package masterurl

import (
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// Server returns the same text for two addresses if they can only mean one server. The spellings may
// differ: by the name of this host's loopback, by letters in upper case, by a dot at the end, or by
// the form of an IP address. It makes no request, so two DNS names of one host remain two.
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
