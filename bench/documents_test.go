package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/workload"
	"github.com/redlock-go/redlock/internal/documents"
)

// Each value of -workloads or -contenders in a document matches an existing workload or contender.
func TestWorkloadsInDocuments(t *testing.T) {
	t.Parallel()
	names := map[string][]string{}
	for _, w := range workload.All {
		names["-workloads"] = append(names["-workloads"], w.Name)
	}
	for _, c := range contender.All {
		names["-contenders"] = append(names["-contenders"], c.Name)
	}
	all, err := documents.All("..")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, d := range all {
		for _, c := range d.Commands() {
			for i, flag := range c.Words[:len(c.Words)-1] {
				if among := names[flag]; among != nil {
					named++
					pattern, err := regexp.Compile(c.Words[i+1])
					if err != nil || !slices.ContainsFunc(among, pattern.MatchString) {
						t.Errorf("%s: %s matches none (%v) of %s", c.Where, c.Words[i+1], err, strings.Join(among, " "))
					}
				}
			}
		}
	}
	if named < 3 {
		t.Errorf("%d were found", named)
	}
}
