// Traps puts each trap of docs/TRAPS.md back once, and runs the tests that must be red then.
//
//	go run ./internal/traps [-run REGEXP] [-timeout D]
//
// It prints what became of each, and ends with status 1 if one was not found. A test that did not
// build, did not run or ran out of time has found nothing. traps.txt has the edits.
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
	run := flag.String("run", "", "only the rows of docs/TRAPS.md that match this `regexp`: a number and the words behind it, or the words")
	limit := flag.Duration("timeout", 4*time.Minute, "how long one test may take")
	flag.Parse()
	pattern, err := regexp.Compile(*run)
	if err != nil {
		log.Fatal(err)
	}
	rows, err := read(".")
	if err != nil {
		log.Fatal(err)
	}
	scratch, err := os.MkdirTemp("", "traps")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(scratch)
	var chosen []row
	for _, r := range rows {
		if pattern.MatchString(r.title) {
			chosen = append(chosen, r)
		}
	}
	found, missed, err := tryOut(".", scratch, chosen, *limit)
	if err != nil {
		log.Print(err)
	}
	fmt.Printf("== %d tests found their trap, %d did not\n", found, missed)
	if err != nil || missed > 0 || found == 0 {
		os.RemoveAll(scratch)
		os.Exit(1)
	}
}

// tryOut puts the traps of the rows back, one after the other, and tells of each what its tests
// say.
func tryOut(root, scratch string, rows []row, limit time.Duration) (found, missed int, err error) {
	b, err := newBuilder(root, scratch, rows)
	if err != nil {
		return 0, 0, err
	}
	number := 0
	for _, r := range rows {
		fmt.Println(r.title)
		if r.reason != "" {
			fmt.Println("     not put back:", r.reason)
		}
		for _, t := range r.traps {
			number++
			for _, one := range t.tests {
				started := time.Now()
				is, said := b.run(number, t, one, limit)
				if is == red {
					found++
				} else {
					missed++
					is = "NOT FOUND, " + is
				}
				fmt.Printf("     %s: %v (%.0f s)\n", is, one, time.Since(started).Seconds())
				if is != red {
					fmt.Println(said)
				}
			}
		}
	}
	return found, missed, nil
}
