// Command rueidis is the part of the benchmark that locks with rueidislock. It is a module of its
// own, because rueidis takes long to build. The benchmark builds it when it is needed.
package main

import (
	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

func main() {
	contender.Provide("rueidis", openClient)
	child.Main(workload.Roles)
	panic("this is started by the benchmark: go run . in bench")
}
