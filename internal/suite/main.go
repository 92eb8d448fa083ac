// Command suite runs the tests of packages with go test, and fails unless every one of them has
// passed.
//
//	suite [-dir FOLDER] [-report FOLDER] "PACKAGES" [FLAGS of go test]
//
// It prints each test when it ends, and which are under way when none has ended for a while. A
// package in which a test fails is run again as a whole, twice at most, since a test may be red
// only beside others. A test that passes in another run is flaky: the suite goes on, and it is
// told. What cannot be put down to a test fails at once:
//   - a process that ended before its last test had (a panic, os.Exit, a signal), because nothing is known of the others;
//   - a package that fails although no test of it does: it does not build, or its TestMain fails;
//   - a data race, or goroutines that outlive their clients;
//   - a -run that runs nothing, or one of whose alternatives does;
//   - in CI, a test that is skipped.
//
// It appends the names of tests to the files passed, skipped and flaky in the folder of the report.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	dir := flag.String("dir", ".", "of the module")
	report := flag.String("report", "", "folder for the names of tests that passed, were skipped, or are flaky")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "suite: no packages are given")
		os.Exit(2)
	}
	s := &suite{
		dir: *dir, packages: strings.Fields(flag.Arg(0)), flags: flag.Args()[1:],
		ci: os.Getenv("CI") != "", patience: 5 * time.Second, out: os.Stdout,
	}
	err := errors.Join(s.run(), s.write(*report))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
