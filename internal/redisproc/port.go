package redisproc

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The kernel takes ports for outgoing connections from 32768 up. A port from there could be gone
// when a killed server wants it back, and a client that dials it meanwhile could even be connected
// to itself.
const (
	lowestPort  = 16384
	highestPort = 32767
)

// freePort returns a port on which nobody listened a moment ago. It may be taken by the time it is
// used.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		var l net.Listener
		if l, err = net.Listen("tcp", loopback(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("redisproc: no free port: %w", err)
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
