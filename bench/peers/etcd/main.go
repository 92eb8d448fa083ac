// Command etcd is the part of the benchmark that runs etcd: a member of a cluster, or the workers
// that lock with it. It is a module of its own, because its dependencies take minutes to build. The
// benchmark builds it when it is needed.
package main

import (
	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

func main() {
	contender.Provide(contender.Etcd, openClient)
	child.Main(map[string]child.Role{
		server.EtcdRole:     member,
		workload.WorkerRole: workload.Worker,
	})
	panic("this is started by the benchmark: go run . in bench")
}
