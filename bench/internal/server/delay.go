package server

import (
	"io"
	"net"
	"runtime"
	"time"

	"github.com/redlock-go/redlock/bench/internal/clock"
)

// delayThreads is how many goroutines can sleep in system calls at once without a delay of other goroutines.
const delayThreads = 128

// delay simulates a network: it returns the address of a delay line to the target. The line runs in the process of
// the benchmark, which is neither a client nor a master. The line moves bytes and does not parse requests, so that a
// pipeline of any length costs the line one read and one write.
func delay(target string, oneWay time.Duration) (addr string, stop func(), err error) {
	runtime.GOMAXPROCS(delayThreads)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			master, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			go carry(client, master, oneWay)
			go carry(master, client, oneWay)
		}
	}()
	return l.Addr().String(), func() { _ = l.Close() }, nil
}

type parcel struct {
	bytes []byte
	due   int64
}

// carry copies bytes from one connection to the other, with a delay of oneWay. At most as many parcels of bytes can
// be under way as the channel line holds. carry ends with the connections, which the clients must close.
func carry(from, to net.Conn, oneWay time.Duration) {
	line := make(chan parcel, 1<<12)
	go func() {
		defer close(line)
		buffer := make([]byte, 1<<16)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				line <- parcel{append([]byte(nil), buffer[:n]...), clock.Now() + int64(oneWay)}
			}
			if err != nil {
				return
			}
		}
	}()
	write := io.Writer(to)
	for p := range line {
		clock.SleepUntil(p.due)
		if _, err := write.Write(p.bytes); err != nil {
			write = io.Discard
			_ = from.Close()
		}
	}
	_ = to.Close()
}
