// Traps puts each trap of docs/TRAPS.md back once, and runs the tests that must be red then.
//
//	go run ./internal/traps [-run REGEXP] [-timeout D]
//
// It prints what became of each, and ends with status 1 if one was not found. A test that did not build, did not run or ran
// out of time has found nothing. traps.txt has the edits.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"time"
)

func main() {
	log.SetFlags(0)
	chosen := flag.String("run", "", "only the rows of docs/TRAPS.md that match this `regexp`: a number and the words behind it, or the words")
	limit := flag.Duration("timeout", 2*time.Minute, "how long one test may take")
	flag.Parse()
	pattern, err := regexp.Compile(*chosen)
	if err != nil {
		log.Fatal(err)
	}
	rows, err := read(".")
	if err != nil {
		log.Fatal(err)
	}
	found, missed := 0, 0
	for _, r := range rows {
		if !pattern.MatchString(r.title) {
			continue
		}
		if r.reason != "" {
			fmt.Printf("%s\n     not put back: %s\n", r.title, r.reason)
			continue
		}
		fmt.Println(r.title)
		for _, t := range r.traps {
			started := time.Now()
			for _, v := range t.tryOut(".", *limit) {
				if v.found() {
					found++
				} else {
					missed++
				}
				fmt.Printf("     %v (%.0f s)\n", v, time.Since(started).Seconds())
				started = time.Now()
			}
		}
	}
	fmt.Printf("== %d tests found their trap, %d did not\n", found, missed)
	if missed > 0 || found == 0 {
		os.Exit(1)
	}
}
