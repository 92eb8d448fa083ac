// Mutation changes one operator of the library at a time, and runs the tests that meet it. One of
// them must fail. docs/CHAOS.md has the results, and lived.txt why some live.
//
//	go run ./internal/mutation [-longest D] [-workers N] [AREA...]
//
// It prints, for each area, how many changes (mutants) there are and what became of them, and each
// that was not killed, with its line.
//
// All mutants of an area are built into one test binary for each package that judges, and an
// environment variable tells which one to make. So a mutant costs the time of its tests, and
// nothing is built for it. First each test runs by itself, to learn which mutants it meets, and how
// long it takes; then each mutant has its tests, the fastest first.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	longest := flag.Duration("longest", 10*time.Second, "leave out tests that take longer than this")
	workers := flag.Int("workers", 1, "how many mutants are judged at once")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: mutation [flags] [AREA...]\n\nAreas: %s\n\n", strings.Join(names(areas), " "))
		flag.PrintDefaults()
	}
	flag.Parse()
	chosen, err := choose(areas, flag.Args())
	if err != nil {
		log.Print(err)
		flag.Usage()
		os.Exit(2)
	}
	for _, a := range chosen {
		r, err := run(".", a, *longest, *workers)
		if err != nil {
			log.Fatalf("%s: %v", a.name, err)
		}
		fmt.Print(r)
	}
}
