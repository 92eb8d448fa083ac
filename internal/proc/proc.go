// Package proc has what the processes need that a program of this module starts: to end when it
// ends, and a port to listen on.
package proc

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The kernel takes ports for outgoing connections from 32768 up. A port from there could be gone
// when a killed server wants it back, and a client that dials it meanwhile could even be connected
// to itself.
const lowestPort, highestPort = 16384, 32767

// FreePort returns a port of the loopback on which nobody listened a moment ago. It may be taken by
// the time it is used.
func FreePort() (int, error) {
	var err error
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port: %w", err)
}
