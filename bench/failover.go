package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"text/tabwriter"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/failover"
	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/stats"
)

const (
	// failoverTTL is the shortest that both take: etcd grants no lease below 2 s by default.
	failoverTTL = 2 * time.Second

	// shortTTL is a short one that redlock takes with its default request timeout of 500 ms.
	shortTTL = 600 * time.Millisecond
)

// election is candidates of one library, which are measured together.
type election struct {
	name    string
	ttl     time.Duration
	role    string // of its candidates
	masters int    // of Redis that they ask; 0: those of the peer
	peer    string // the contender with the same servers and program
}

var elections = []election{
	{name: "redlock-5", ttl: failoverTTL, role: failover.RedlockRole, masters: 5},
	{name: "redlock-3", ttl: failoverTTL, role: failover.RedlockRole, masters: 3},
	{name: "etcd-3", ttl: failoverTTL, role: failover.EtcdRole, peer: "etcd-3"},
	{name: "redlock-5-short", ttl: shortTTL, role: failover.RedlockRole, masters: 5},
}

// opened is an election whose servers run, and what was measured.
type opened struct {
	election
	program string
	servers *server.Running
	results map[failover.Departure]*failover.Result
}

// measureFailovers measures how long it takes until the next leader works, so many times for each
// election and departure, in rounds that begin with another election each time.
func measureFailovers(out io.Writer, s settings, times int) (err error) {
	others, err := newSupport()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, others.stop()) }()
	var all []*opened
	for _, e := range elections {
		if !s.contenders.MatchString(e.name) {
			continue
		}
		o, err := e.open(others)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if e.masters > 0 {
			defer o.servers.Stop()
		}
		all = append(all, o)
	}
	if len(all) == 0 {
		return errors.New("no election has such a name")
	}
	return errors.Join(playAll(all, times), writeFailovers(out, all))
}

// playAll goes round by round through all elections.
func playAll(all []*opened, times int) error {
	for round := range times {
		for i := range all {
			o := all[(i+round)%len(all)]
			order := failover.Order{Addrs: o.servers.Addrs, Election: fmt.Sprintf("election-%d", round), TTL: o.ttl}
			if err := failover.Measure(o.program, o.role, order, o.results); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
		}
		log.Printf("round %d/%d", round+1, times)
	}
	return nil
}

// open starts the servers. The caller must stop those that are masters of Redis.
func (e election) open(others *support) (_ *opened, err error) {
	o := &opened{election: e, program: reexec.Self, results: map[failover.Departure]*failover.Result{}}
	for _, how := range failover.Departures {
		o.results[how] = &failover.Result{}
	}
	if e.masters > 0 {
		o.servers, err = server.StartRedis(server.RedisConfig{Masters: e.masters})
		return o, err
	}
	c := contender.ByName(e.peer)
	if o.program, err = others.program(c); err != nil {
		return nil, err
	}
	o.servers, err = others.of(c, o.program, nil)
	return o, err
}

// writeFailovers writes the figures for people.
func writeFailovers(out io.Writer, all []*opened) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "candidates\tttl\tthe leader was or has\ttimes\tp50\tp99\tmax\tterms lost before\t")
	for _, how := range failover.Departures {
		for _, o := range all {
			r := o.results[how]
			q := stats.QuantilesOf(r.Took)
			fmt.Fprintf(table, "%s\t%v\t%s\t%d\t%s\t%s\t%s\t%d\t\n", o.name, o.ttl, how, len(r.Took), short(q.P50), short(q.P99), short(q.Max), r.Lost)
		}
	}
	return table.Flush()
}

// short is d to a tenth of a millisecond.
func short(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
