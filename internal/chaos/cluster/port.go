package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// freePort returns a port on which nobody listened a moment ago, from below the range out of which
// the kernel serves outgoing connections: one of those could have it when a server that was killed
// wants it back.
func freePort() (int, error) {
	const lowest, highest = 16384, 32767
	var err error
	for range 100 {
		port := lowest + rand.IntN(highest-lowest+1)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("cluster: no free port: %w", err)
}
