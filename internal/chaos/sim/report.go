package sim

import (
	"time"

	"github.com/redlock-go/redlock/internal/chaos/report"
)

// WriteReport writes the report of a round to a file. The command plays it again.
func WriteReport(path string, seed uint64, command string, r Result) error {
	return report.Save(path, report.Run{
		Title:      "Simulated chaos",
		Started:    time.Now(),
		Seed:       seed,
		Command:    command,
		Events:     r.Events,
		Figures:    r.Figures(),
		Violations: r.Texts(),
		Moments:    r.Moments(),
	})
}
