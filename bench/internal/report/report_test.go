package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// everything returns a Report with three repetitions of all contenders under all workloads.
func everything() Report {
	r := Report{}
	for round := range 3 {
		for _, w := range workload.All {
			for _, c := range contender.All {
				speed := 100.
				if c.Name == "redlock" {
					speed = 450
				}
				s := Subject{w.Name, c.Name}
				r[s] = append(r[s], workload.Cell{Pairs: 1, PerSecond: speed * float64(round+1), WaitP99: 1, Allocs: 41})
			}
		}
	}
	return r
}

func TestAims(t *testing.T) {
	t.Parallel()
	r := everything()
	for i, want := range map[int]bool{0: true, 3: true, 5: false, 8: false} {
		measured, met, known := aims[i].judge(r)
		if !known || met != want {
			t.Errorf("%s: %v, met is %t, want %t", aims[i].name, measured, met, want)
		}
	}
	if measured, _, _ := aims[3].judge(r); measured != 4.5 {
		t.Errorf("ratios must be those of one round: %v", measured)
	}
	r[Subject{"distinct-64", "redsync"}][2].Failed = 1
	if _, met, _ := aims[3].judge(r); met {
		t.Error("an aim is met though a call failed")
	}
	if _, _, known := aims[0].judge(Report{}); known {
		t.Error("an aim is known though nothing was measured")
	}
	for _, a := range aims {
		named := func(w workload.Workload) bool { return w.Name == a.workload }
		based := func(c contender.Contender) bool { return c.Name == a.base }
		if !slices.ContainsFunc(workload.All, named) || !slices.ContainsFunc(contender.All, based) {
			t.Errorf("%s: there is no such workload or contender", a.name)
		}
	}
	if Needed(Subject{"distinct-512", "floor"}) || Needed(Subject{"series", "etcd-1"}) || !Needed(Subject{"distinct-64", "redsync"}) {
		t.Error("-aims measures too much or too little")
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	everything().WriteTable(&out)
	everything().WriteAims(&out)
	line := Line(Subject{"series", "redlock"}, workload.Cell{Pairs: 7, PerSecond: 3.5, WaitP99: 1500 * time.Nanosecond})
	for _, want := range []string{
		"contended-8-procs-link-1ms", "wait p50", "redsync  200", "redlock  900", "NOT MET",
		"BenchmarkLock/workload=series/contender=redlock\t7\t3.5 pairs/s\t", "\t1.5 wait-p99-µs\t",
	} {
		if !strings.Contains(out.String()+line, want) {
			t.Errorf("there is no %q in\n%s%s", want, &out, line)
		}
	}
	if fields := strings.Fields(line); len(fields)%2 != 0 {
		t.Errorf("a value has no unit, or a unit no value: %q", line)
	}
}
