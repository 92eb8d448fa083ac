package testdb

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/redlock-go/redlock/internal/proc"
)

// confine makes command run in the folder dir. Database servers refuse to run as root. So if the test runs as root, the
// command runs as a user without rights. The command gets the given signal if the test process dies without stopping
// it.
func confine(command *exec.Cmd, dir string, end syscall.Signal) error {
	command.Dir = dir
	command.SysProcAttr = &syscall.SysProcAttr{}
	proc.EndWithParent(command.SysProcAttr, end)
	if os.Geteuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return err
	}
	command.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(uid), int(gid))
	})
}
