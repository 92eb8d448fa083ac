// Package masterurl reads the URL of a master: how the server is reached, and with what
// certificates. The commands need it as well as the library, so that both take the same URLs.
//
// It must not know what is asked of a master. It starts no goroutine.
package masterurl
