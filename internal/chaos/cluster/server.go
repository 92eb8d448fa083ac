package cluster

// server is one redis-server of an engine, on a place and a port that it keeps.
type server interface {
	addr() string
	running() bool

	// start returns once it serves; nothing happens when it runs.
	start() error

	// kill returns once it is gone; nothing happens when it is down.
	kill() error

	freeze() error
	thaw() error

	// remove ends it for good. The place stays.
	remove() error
}

// place is where a server lives: folders of this machine.
type place struct {
	name    string
	data    string // what it remembers
	control string // the configuration and the clock; of the master, also for its replica
}

// engine runs servers.
type engine interface {
	// launch returns a server that serves, on a free port and whatever data the place has.
	launch(at place) (server, error)

	// clock returns why the clocks of its servers cannot be set; nil when they can.
	clock() error

	// close ends what runs the servers, once they are removed.
	close() error
}

// directives are what every server has beside the file of its Fsync, for the sake of replicas: one
// is in sync within a second, and without an append-only file it does not keep what it got from its
// master either.
var directives = []struct{ name, value string }{
	{"repl-diskless-sync-delay", "0"},
	{"rdb-del-sync-files", "yes"},
}
