package work

import (
	"fmt"
	"sync/atomic"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// callsPerLife is more than the number of calls in one life of a client, so that the calls of two lives have different
// numbers.
const callsPerLife = 10_000_000

// recorder numbers the calls of this process and records their events.
type recorder struct {
	out    history.Log
	client string
	number int
	last   atomic.Int64
}

func newRecorder(out history.Log, number, life int) *recorder {
	r := &recorder{out: out, client: fmt.Sprint("c", number), number: number}
	r.last.Store(int64(life) * callsPerLife)
	return r
}

// call is one call. The fields of known are in all events of the call.
type call struct {
	r     *recorder
	known history.Event
}

// call returns a call that has not begun yet.
func (r *recorder) call(known history.Event) call {
	known.Client, known.Call = r.client, r.last.Add(1)
	return call{r, known}
}

// value returns the value that the call writes. No other call of any client writes the same value.
func (c call) value() int64 { return int64(c.r.number+1)*1_000_000_000_000 + c.known.Call }

// log writes e, completed with the known fields of the call.
func (c call) log(e history.Event) {
	e.Client, e.Call = c.known.Client, c.known.Call
	e.Name, e.Store = c.known.Name, c.known.Store
	if e.Token == 0 {
		e.Token = c.known.Token
	}
	c.r.out.Write(e)
}
