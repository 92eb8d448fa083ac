package main

import (
	"errors"
	"io"
	"log"

	"github.com/redlock-go/redlock/bench/internal/growth"
)

// measureGrowth measures the rows, and reports them, also those that failed on the way.
func measureGrowth(out io.Writer, s growth.Settings, dir string, args []string) error {
	r := growth.NewReport(args)
	err := growth.Measure(s, r, log.Printf)
	r.WriteTable(out)
	return errors.Join(err, keep(dir, "growth.json", r.WriteJSON))
}
