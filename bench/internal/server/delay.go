package server

import (
	"encoding/json"
	"io"
	"net"
	"runtime"
	"time"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/clock"
)

// DelayRole is the network between: a delay line before each target, in a process of its own so
// that its work is neither the client's nor the master's. It moves bytes and knows nothing of
// requests, so that a pipeline costs it one read and one write, whatever is in it.
const DelayRole = "delay"

// delayThreads is how many may sleep at a time without the runtime having to notice first that they
// keep others from running.
const delayThreads = 128

type delayOrder struct {
	Targets []string
	OneWay  time.Duration
}

// Delay plays DelayRole: it answers with one URL a target.
func Delay(in *json.Decoder, out *json.Encoder) error {
	var order delayOrder
	if err := in.Decode(&order); err != nil {
		return err
	}
	runtime.GOMAXPROCS(delayThreads)
	var addrs []string
	for _, target := range order.Targets {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addrs = append(addrs, "redis://"+l.Addr().String())
		go accept(l, target, order.OneWay)
	}
	if err := out.Encode(addrs); err != nil {
		return err
	}
	child.UntilStopped(in)
	return nil
}

func accept(l net.Listener, target string, oneWay time.Duration) {
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
}

type parcel struct {
	bytes []byte
	due   int64
}

// carry takes bytes from one connection to the other, each oneWay later. Any amount may be under
// way, up to what the line holds.
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
