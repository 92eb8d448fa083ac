// Package masterurl parses the URL of a master: how the server is reached, and with which
// certificates. The commands use it as well as the library, so that both accept the same URLs.
//
// It must not depend on the requests to a master. It starts no goroutine.
package masterurl
