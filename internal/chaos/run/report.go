//go:build unix

package run

import "fmt"

// Summary returns the figures of the run, one a line.
func (res Result) Summary() []string {
	return append([]string{fmt.Sprintf("%d rounds, %d violations", res.Rounds, len(res.Violations))}, res.Figures()...)
}
