// Package masterurl parses the URL of a master: how the server is reached, and with which
// certificates. Both the commands and the library use this package, so they accept the same URLs.
//
// The package must not depend on the requests to a master. It starts no goroutine.
package masterurl
