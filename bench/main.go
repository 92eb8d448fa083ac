// Command bench measures this library beside its peers and beside the raw floors, on the same
// servers and in one run, so that the ratios mean something on any machine. It must be run in its
// folder.
//
//	go run .                               # everything, which takes long
//	go run . -quick                        # everything, for a moment each: does it work?
//	go run . -workloads '^distinct-64$' -contenders 'redlock|redsync' -seconds 5
//	go run . -out results                  # and results.json and plots in that folder
//	go run . -aims                         # only what the aims need, and the aims
//	go run . -check                        # the regression check, against the raw floors, within a minute
//	go run . -growth -out results          # what a piece of work costs as there is more of it, and growth.json and plots
//	go run . -growth -rows names-held -most 1000000
//	go run . -failover                     # how soon another leads when the leader went (5 minutes)
//	go run . -workloads '^series$' -contenders '^redlock$' -profile cpu.out   # then go tool pprof
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"runtime/pprof"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/bench/internal/failover"
	"github.com/redlock-go/redlock/bench/internal/growth"
	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// roles are what the processes are that this one starts.
var roles = map[string]reexec.Role{
	server.DelayRole:    server.Delay,
	workload.WorkerRole: workload.Worker,
	workload.HolderRole: workload.Holder,

	failover.RedlockRole: failover.Redlock,
}

type settings struct {
	workloads, contenders *regexp.Regexp
	cell                  time.Duration
	rounds                int
	out                   string
	aims                  bool
}

func main() {
	redis.SetLogger(silence{})
	reexec.Main(roles)
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	workloads := flags.String("workloads", "", "measure only workloads whose names match this regular `expression`")
	contenders := flags.String("contenders", "", "measure only contenders whose names match this regular `expression`")
	seconds := flags.Float64("seconds", 3, "how long each cell is measured")
	rounds := flags.Int("rounds", 3, "how often each cell is measured; medians are shown")
	out := flags.String("out", "", "write results.json, or growth.json, and plots to this `folder`")
	aims := flags.Bool("aims", false, "measure only what the aims need, and print which are met")
	quick := flags.Bool("quick", false, "a sanity pass: -seconds 0.3 -rounds 1")
	check := flags.Bool("check", false, "compare with the raw floors, and fail below threshold.json")
	profile := flags.String("profile", "", "write a CPU profile of this process, in which are all clients but those of 8 processes, to this `file`")
	grows := flags.Bool("growth", false, "measure what a piece of work costs as there is more of it")
	rows := flags.String("rows", "", "for -growth: measure only rows whose names match this regular `expression`")
	most := flags.Int("most", 0, "for -growth: the end of each row; 0: its usual one, which takes a minute or two")
	leaders := flags.Bool("failover", false, "measure how soon another candidate leads when the leader went, of the -contenders redlock-5, redlock-3, etcd-3 and redlock-5-short")
	times := flags.Int("times", 10, "how often a leader goes in each way, for -failover")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := settings{cell: time.Duration(*seconds * float64(time.Second)), rounds: *rounds, out: *out, aims: *aims}
	if *quick {
		s.cell, s.rounds = 300*time.Millisecond, 1
	}
	if s.cell <= 0 || s.rounds < 1 || *most < 0 || *times < 1 || flags.NArg() > 0 {
		return fmt.Errorf("-seconds, -rounds and -times must be positive, -most not negative, and there are no arguments: %q", flags.Args())
	}
	var err error
	if s.workloads, err = regexp.Compile(*workloads); err != nil {
		return fmt.Errorf("-workloads: %w", err)
	}
	if s.contenders, err = regexp.Compile(*contenders); err != nil {
		return fmt.Errorf("-contenders: %w", err)
	}
	names, err := regexp.Compile(*rows)
	if err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	switch {
	case *check:
		return checkRegression(os.Stdout, "threshold.json")
	case *grows:
		return measureGrowth(os.Stdout, growth.Settings{Rows: names, Most: *most, Cell: s.cell}, *out, args)
	case *leaders:
		return measureFailovers(os.Stdout, s, *times)
	}
	return compare(os.Stdout, s, args)
}

// silence keeps go-redis from logging into the table.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
