package master

import (
	"errors"
	"testing"

	"github.com/redlock-go/redlock/internal/script"
)

// What servers were seen to say of a command that is not there, or that the user may not run.
func TestDenied(t *testing.T) {
	for said, want := range map[string]bool{
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
		if got := errors.Is(denied(replyError(said)), script.ErrDenied); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
	if err := errors.New("NOPERM says no server"); denied(err) != err {
		t.Error(denied(err))
	}
}
