// Package failover measures how long it takes until another candidate of an election leads, after
// the leader went. Each candidate is a process of its own.
package failover

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/redlock-go/redlock/bench/internal/clock"
	"github.com/redlock-go/redlock/bench/internal/reexec"
)

// Elector is a candidate, made by one of the libraries that are compared.
type Elector interface {
	// Run campaigns, and calls work when it is elected. The context of work ends with the term. A
	// term that was lost is followed by the next campaign.
	Run(work func(ctx context.Context, token uint64)) error

	// Resign ends the term. It returns when work has returned, and others can be elected.
	Resign() error
}

// Order is what a candidate is told.
type Order struct {
	Addrs    []string // of the servers
	Election string
	TTL      time.Duration
}

// news is what a candidate tells.
type news struct {
	What  what
	At    int64  // by package clock
	Token uint64 // of the term that began
	Err   string // why it could not resign
}

type what string

const (
	campaigns what = "campaigns"
	leads     what = "leads"    // At is when its work began
	resigned  what = "resigned" // At is when it called Resign
)

// EtcdRole is a candidate of etcd's concurrency.Election. The program of the peer plays it.
const EtcdRole = "etcd-candidate"

// Candidate makes the role of a candidate: it takes an order, campaigns, and resigns each time it
// is told something.
func Candidate(open func(Order) (Elector, error)) reexec.Role {
	return func(in *json.Decoder, out *json.Encoder) error {
		var order Order
		if err := in.Decode(&order); err != nil {
			return err
		}
		elector, err := open(order)
		if err != nil {
			return err
		}
		teller := &teller{out: out}
		if err := teller.tell(news{What: campaigns, At: clock.Now()}); err != nil {
			return err
		}
		ran := make(chan error, 1)
		go func() { ran <- elector.Run(teller.work) }()
		answered := make(chan error, 1)
		go func() { answered <- teller.answer(in, elector) }()
		select {
		case err := <-ran:
			return errors.Join(errors.New("it campaigns no more"), err)
		case err := <-answered:
			return err
		}
	}
}

// teller tells the parent what its candidate does.
type teller struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (t *teller) tell(n news) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Encode(n)
}

// work is the leader's.
func (t *teller) work(ctx context.Context, token uint64) {
	if t.tell(news{What: leads, At: clock.Now(), Token: token}) == nil {
		<-ctx.Done()
	}
}

// answer resigns whenever it is told to.
func (t *teller) answer(in *json.Decoder, elector Elector) error {
	var ignored any
	for in.Decode(&ignored) == nil {
		did := news{What: resigned, At: clock.Now()}
		if err := elector.Resign(); err != nil {
			did.Err = err.Error()
		}
		if err := t.tell(did); err != nil {
			return err
		}
	}
	return nil
}
