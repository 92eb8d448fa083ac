// Package masterurl parses the URL of a master: how the server is reached, and with which
// certificates. Both the commands and the library use this package, so they accept the same URLs.
//
// The package sends no request, and must not depend on packages that do. It starts no goroutine.
package masterurl
