// Command etcd is the part of the benchmark that runs etcd: a member of a cluster, the workers that
// lock with it, or a candidate of its election. It is a module of its own, since what it is made of
// takes minutes to build. The benchmark builds it when it is needed.
package main

import (
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/failover"
	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

func main() {
	contender.Provide(contender.Etcd, openClient)
	reexec.Main(map[string]reexec.Role{
		server.EtcdRole:     member,
		workload.WorkerRole: workload.Worker,
		failover.EtcdRole:   failover.Candidate(openElector),
	})
	panic("this is started by the benchmark: go run . in bench")
}
