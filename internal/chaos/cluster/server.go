package cluster

// server is one redis-server of an engine, with a fixed place and port.
type server interface {
	addr() string
	running() bool

	// start starts the server, and returns once it serves. It does nothing if the server runs.
	start() error

	// kill kills the process, and returns once it is gone. It does nothing if the server is down.
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
	control string // the configuration and the clock; a replica uses the folder of its master
}

// engine runs servers.
type engine interface {
	// launch returns a running server on a free port, with the data in the place.
	launch(at place) (server, error)

	// clock returns an error if the clocks of the servers cannot be set.
	clock() error

	// close ends the engine, after all servers were removed.
	close() error
}

// directives are settings of all servers, in addition to the file of their Fsync. With them, a replica is in sync
// within a second, and a replica without an append-only file does not keep the file that it got from its master.
var directives = []struct{ name, value string }{
	{"repl-diskless-sync-delay", "0"},
	{"rdb-del-sync-files", "yes"},
}
