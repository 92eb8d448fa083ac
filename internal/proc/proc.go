// Package proc helps to start processes: it makes them end with their parent, and finds
// a port for them.
package proc

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The kernel takes ports for outgoing connections from 32768 up. If a killed server had such a port, the port
// could be taken when the server needs it again. A client that dials the port meanwhile could even be
// connected to itself.
const lowestPort, highestPort = 16384, 32767

// FreePort returns a port of the loopback on which no process listened just now. It may be taken before it is used.
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
