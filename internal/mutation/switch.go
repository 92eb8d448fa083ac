package main

// mutantPackage is the package that the changed code asks which mutant to make. It exists only in
// the overlay that the test binaries are built with.
const mutantPackage = module + "/internal/mutation/mutant"

// The environment variables that it reads.
const (
	envChosen = "REDLOCK_MUTANT"      // the number of the mutant to make
	envMet    = "REDLOCK_MUTANTS_MET" // a file, to which the numbers of those that are met are written
)

// mutantSource is that package.
const mutantSource = `package mutant

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

var (
	chosen, _ = strconv.Atoi(os.Getenv("` + envChosen + `"))
	path      = os.Getenv("` + envMet + `")
	met       sync.Map
)

// On tells whether this mutant is to be made.
func On(id int) bool {
	if path != "" {
		meet(id)
	}
	return id == chosen
}

// Of returns what the code, or its mutant with this number, returns.
func Of[T any](id int, original, changed func() T) T {
	if On(id) {
		return changed()
	}
	return original()
}

func meet(id int) {
	if _, before := met.LoadOrStore(id, true); before {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, id)
}
`
