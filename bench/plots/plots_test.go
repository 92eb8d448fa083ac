package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPlotForEachRow(t *testing.T) {
	t.Parallel()
	const printed = `goos: linux
BenchmarkGrowth/names-held/n=100-2         	       1	     18730 client-B/name	        72.50 client-µs/renewal	         0 ns/op
BenchmarkGrowth/names-held/n=1000-2        	       1	      2376 client-B/name	        39.00 client-µs/renewal	         0 ns/op
BenchmarkGrowth/sets/n=1-2                 	       1	         0 p50-µs/name
PASS
`
	dir := t.TempDir()
	if err := drawAll([]byte(printed), dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"names-held": {"names-held", "client-B/name", "client-µs/renewal", "1000"}, "sets": {"sets", "p50-µs/name"}} {
		drawn, err := os.ReadFile(filepath.Join(dir, "growth-"+name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(string(drawn), ">"+text+"<") {
				t.Errorf("the plot of %s has no text %q", name, text)
			}
		}
		if strings.Contains(string(drawn), "ns/op") {
			t.Errorf("the plot of %s has the time of the benchmark", name)
		}
	}
	for _, bad := range []string{"", "BenchmarkGrowth/sets/n=x 1 2 keys", "BenchmarkGrowth/sets/n=1 1 2"} {
		if drawAll([]byte(bad), dir) == nil {
			t.Errorf("%q was drawn", bad)
		}
	}
}
