package cluster

// server is one redis-server of an engine, with a fixed place and port.
type server interface {
	addr() string
	running() bool

	// start returns once the server serves. It does nothing if the server runs.
	start() error

	// kill returns once the process is gone. It does nothing if the server is down.
	kill() error

	freeze() error
	thaw() error

	// remove ends the server for good. The place stays.
	remove() error
}

// place has the folders of a server on this machine.
type place struct {
	name    string
	data    string // its data
	control string // the configuration and the clock; of the master, also for its replica
}

// engine runs servers.
type engine interface {
	// launch returns a running server on a free port, with the data in the place.
	launch(at place) (server, error)

	// clock returns why the clocks of its servers cannot be set, or nil.
	clock() error

	// close ends the engine, after all servers were removed.
	close() error
}

// directives are settings of all servers beside the file of their Fsync. They are for replicas: a replica
// is in sync within a second, and without an append-only file it does not keep the data that it got from its
// master.
var directives = []struct{ name, value string }{
	{"repl-diskless-sync-delay", "0"},
	{"rdb-del-sync-files", "yes"},
}
