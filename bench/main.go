// Command bench compares this library with others and the raw floor (internal/contender/floor.go), on
// the same servers and in one run, so that the ratios mean something on any machine. It must be run in
// its folder.
//
//	go run .                               # everything, which takes long
//	go run . -seconds 0.3 -rounds 1        # everything, for a short time each, as a trial
//	go run . -workloads '^distinct-64$' -contenders 'redlock|redsync' -seconds 5
//	go run . -out cells.txt                # everything, and the cells for benchstat in that file
//	go run . -aims                         # only what the aims need, and which aims are met
//	go run . -check                        # the regression check, against the raw floor, within a minute
//
// The benchmark of package growth measures how costs change when there are more names, waiters, clients or masters.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

type settings struct {
	workloads, contenders *regexp.Regexp
	cell                  time.Duration
	rounds                int
	out                   string
	aims                  bool
}

func main() {
	logging.Disable() // keeps go-redis's log out of the table
	child.Main(workload.Roles)
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	s := settings{workloads: new(regexp.Regexp), contenders: new(regexp.Regexp)}
	all := regexp.MustCompile("")
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.TextVar(s.workloads, "workloads", all, "measure only workloads whose names match this regular `expression`")
	flags.TextVar(s.contenders, "contenders", all, "measure only contenders whose names match this regular `expression`")
	seconds := flags.Float64("seconds", 1.5, "how long each cell is measured")
	flags.IntVar(&s.rounds, "rounds", 6, "how often each cell is measured; medians are shown")
	flags.StringVar(&s.out, "out", "", "write the cells to this `file`, for benchstat")
	flags.BoolVar(&s.aims, "aims", false, "measure only what the aims need, and print which are met")
	check := flags.Bool("check", false, "compare with the raw floor, and fail below threshold.json")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.cell = time.Duration(*seconds * float64(time.Second))
	if s.cell <= 0 || s.rounds < 1 || flags.NArg() > 0 {
		return fmt.Errorf("-seconds and -rounds must be positive, and there are no arguments: %q", flags.Args())
	}
	if *check {
		return checkRegression(os.Stdout, "threshold.json")
	}
	return compare(os.Stdout, s)
}
