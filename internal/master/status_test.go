package master

import (
	"errors"
	"testing"
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

// Of a master that is both out of reach and refuses what writes, one end is told when both are
// over.
func TestWhatIsToldOfAMaster(t *testing.T) {
	t.Parallel()
	m := new(Master)
	m.status.turn = make(chan struct{}, 1)
	told := ""
	m.Up, m.Down = func() { told += "up " }, func(err error) { told += err.Error() + " " }
	m.Refuses = func() { told += "begins with " }
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
		told = ""
		if step.do(); told != step.want {
			t.Fatalf("%q is told, want %q", told, step.want)
		}
	}
}
