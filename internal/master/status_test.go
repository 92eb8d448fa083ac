package master

import (
	"errors"
	"testing"

	"github.com/redlock-go/redlock/internal/script"
)

func TestRefusesWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("OOM is no reply"), false},
		{replyError("OOM command not allowed when used memory > 'maxmemory'."), true},
		{replyError("NOREPLICAS Not enough good replicas to write."), true},
		{replyError("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."), true},
		{replyError("READONLY You can't write against a read only replica."), true},
		{replyError("BUSY Redis is busy running a script."), true},
		{replyError("LOADING Redis is loading the dataset in memory"), true},
		{replyError("@user_script: 12: -READONLY You can't write against a read only replica."), true}, // Redis 6
		{replyError("@user_script:12: OOM command not allowed when used memory > 'maxmemory'."), true},
		{replyError("GONE this owner gave up here"), false},
		{replyError("NOPERM User has no permissions to run the 'set' command"), false},
		{replyError("ERR the key is named OOM "), false},
		{replyError("BUSYGROUP Consumer Group name already exists"), false},
	} {
		if got := RefusesWrites(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// If a master cannot be reached and also refuses writes, it is reported as up once: when both are over.
func TestMasterStatusReports(t *testing.T) {
	t.Parallel()
	m := new(Master)
	m.status.turn = make(chan struct{}, 1)
	events := ""
	m.Up, m.Down = func() { events += "up " }, func(err error) { events += err.Error() + " " }
	m.Refuses = func() { events += "begins with " }
	away, full := errors.New("away"), replyError("OOM full")
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { m.refusesWrite(full) }, "begins with OOM full "},
		{func() { m.setStatus(func(s *status) { s.reached, s.down = false, away }) }, ""},
		{func() { m.Wrote(nil) }, ""},
		{func() { m.refusesWrite(full) }, "begins with "},
		{func() { m.setStatus(func(s *status) { s.reached, s.down = true, nil }) }, ""},
		{func() { m.Wrote(away) }, ""},
		{func() { m.Wrote(nil) }, "up "},
		{func() { m.Wrote(nil) }, ""},
		{func() { m.Wrote(full) }, "begins with OOM full "},
		{func() { m.refusesWrite(full) }, ""},
	} {
		events = ""
		if step.do(); events != step.want {
			t.Fatalf("%q is reported, want %q", events, step.want)
		}
	}
}

// These are replies of servers to a command that does not exist, or that the user may not run.
func TestDenied(t *testing.T) {
	for reply, want := range map[string]bool{
		"NOPERM this user has no permissions to run the 'get' command or its subcommand":                                                               true, // Redis 6.0
		"NOPERM User a has no permissions to run the 'get' command":                                                                                    true, // Redis 8.0, Valkey 8.1
		"@user_script: 1: The user executing the script can't run this command or subcommand":                                                          true, // Redis 6.0, caught
		"ERR Error running script (call to f_3c): @user_script:1: @user_script: 1: The user executing the script can't run this command or subcommand": true,
		"ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 3c, on @user_script:1.":    true, // Redis 7.0
		"ERR ACL failure in script: User redlock has no permissions to run the 'del' command":                                                          true, // Redis 8.0, Valkey 8.1
		"ERR unknown command `SCRIPT`, with args beginning with: `load`, ":                                                                             true,
		"ERR unknown command 'SCRIPT', with args beginning with: 'load' ":                                                                              true,
		"ERR unknown subcommand 'LOAD'. Try SCRIPT HELP.":                                                                                              true,
		"@user_script: 1: Unknown Redis command called from Lua script":                                                                                true,
		"ERR Unknown Redis command called from script script: 3c, on @user_script:1.":                                                                  true,
		"OOM command not allowed when used memory > 'maxmemory'.":                                                                                      false,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.":                                             false,
		"NOTMEMBER the fencing counter redlock:{1}:fence is missing or corrupt":                                                                        false,
		"ERR max number of clients reached":                                                                                                            false,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                                                                            false,
	} {
		if got := errors.Is(denied(replyError(reply)), script.ErrDenied); got != want {
			t.Errorf("%q: %v", reply, got)
		}
	}
	if err := errors.New("NOPERM says no server"); denied(err) != err {
		t.Error(denied(err))
	}
}
