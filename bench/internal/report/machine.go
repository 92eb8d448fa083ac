package report

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/bench/internal/reexec"
)

// Machine is where a run was.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
}

// ThisMachine is where this process runs.
func ThisMachine() Machine {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: strings.TrimSpace(string(kernel)), CPUs: runtime.NumCPU()}
	for line := range strings.Lines(string(cpuinfo)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}

// measured are the modules whose versions matter.
var measured = []string{
	"github.com/redis/go-redis/v9", "github.com/go-redsync/redsync/v4", "github.com/bsm/redislock",
	"github.com/redis/rueidis", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/client/v3",
	"github.com/go-zookeeper/zk", "github.com/go-sql-driver/mysql",
}

// Versions are those of what is measured, and of what it runs on.
func Versions() map[string]string {
	v := map[string]string{"go": runtime.Version()}
	for name, command := range map[string][]string{
		"redis-server": {"redis-server", "--version"},
		"mariadbd":     {"mariadbd", "--version"},
	} {
		if output, err := exec.Command(command[0], command[1:]...).Output(); err == nil {
			v[name] = strings.TrimSpace(string(output))
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		note(v, info)
	}
	return v
}

// MadeWith notes the versions of the modules in another program than this one.
func (r *Report) MadeWith(program string) {
	if program == reexec.Self {
		return
	}
	if info, err := buildinfo.ReadFile(program); err == nil {
		note(r.Version, info)
	}
}

func note(versions map[string]string, info *debug.BuildInfo) {
	for _, dep := range info.Deps {
		if slices.Contains(measured, dep.Path) {
			versions[dep.Path] = dep.Version
		}
	}
}
