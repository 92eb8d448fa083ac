package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/server"
)

// Those who wait are let settle, and then watched for three times as long as what they do again and
// again takes to come round: a waiter asks once in 20 s, and a holder renews once in 10.
const (
	settling = 10 * time.Second
	watched  = time.Minute
)

// measureHeld has one process hold names, and measures another one whose workers wait for them. A
// worker that does not wait until the end fails the cell.
func measureHeld(w Workload, o order, program string, on *server.Running) (_ Cell, err error) {
	o.Waiting = true
	holder, err := startHolder(program, o, w.Held)
	if err != nil {
		return Cell{}, err
	}
	defer func() { err = errors.Join(err, holder.Stop()) }()
	s, used, err := inProcesses(1, o, program, settling, watched, on)
	if err == nil && s.Failed > 0 {
		err = fmt.Errorf("%d workers did not wait, the first: %s", s.Failed, s.FirstErr)
	}
	if err != nil {
		return Cell{}, err
	}
	return cellOf(s, used, watched), nil
}

// HolderRole is a process that holds names until it is stopped.
const HolderRole = "holder"

func startHolder(program string, o order, names int) (*reexec.Child, error) {
	holder, err := reexec.Start(program, HolderRole)
	if err != nil {
		return nil, err
	}
	o.Workers = names
	var ready string
	if err := errors.Join(holder.Tell(o), holder.Hear(&ready)); err != nil {
		return nil, errors.Join(fmt.Errorf("the holder did not get ready: %w", err), holder.Stop())
	}
	return holder, nil
}

// takers is how many locks a holder takes at a time.
const takers = 64

// Holder plays HolderRole: it takes an order, takes the names that the workers of that order wait
// for, with this library as it comes, and answers when it has them.
func Holder(in *json.Decoder, out *json.Encoder) error {
	var o order
	if err := in.Decode(&o); err != nil {
		return err
	}
	client, err := redlock.Open(o.Addrs)
	if err != nil {
		return err
	}
	names := crew{order: o}
	errs := make([]error, takers)
	var wg sync.WaitGroup
	for i := range takers {
		wg.Go(func() {
			for k := i; k < o.Workers && errs[i] == nil; k += takers {
				_, errs[i] = client.Lock(context.Background(), names.own(k))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, client.Close())
	}
	if err := out.Encode("ready"); err != nil {
		return errors.Join(err, client.Close())
	}
	reexec.UntilStopped(in)
	return client.Close()
}

// wait waits for the worker's name until the window is over.
func (c *crew) wait(ctx context.Context, worker int, w window) (s sample) {
	ctx, cancel := context.WithTimeout(ctx, w.left())
	defer cancel()
	_, err := c.client(worker).Lock(ctx, c.own(worker), true)
	switch {
	case err == nil:
		s.fail(errors.New("the name was had, though another process holds it"))
	case ctx.Err() == nil:
		s.fail(err)
	}
	return s
}
