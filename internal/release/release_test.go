// Package release_test gets the modules as their users will, from the tags of a release.
package release_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/redlock-go/redlock"

// dockers are modules that only the harness of our tests needs, and scanners flag.
var dockers = regexp.MustCompile(`github\.com/(docker|moby|opencontainers|ory/dockertest)`)

// programs has what a user writes, by the directory of the module that is got for it.
var programs = map[string]string{
	".": `import (
	"context"
	"net/http"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/httpguard"
	"github.com/redlock-go/redlock/leader"
)

func use(ctx context.Context, client *redlock.Client, memory *fence.Memory) (*leader.Elector, error) {
	http.Handle("/", httpguard.Exclusive(memory, func(*http.Request) string { return "/" })(http.NotFoundHandler()))
	err := client.Do(ctx, "payroll", func(ctx context.Context, token fence.Token) error {
		return memory.Do(ctx, "payroll", token, func() error { return nil })
	})
	if err != nil {
		return nil, err
	}
	return leader.New(client, "payroll")
}
`,
	"adapter/asynq": `import (
	"github.com/hibiken/asynq"

	"github.com/redlock-go/redlock"
	asynqlock "github.com/redlock-go/redlock/adapter/asynq"
)

func use(mux *asynq.ServeMux, client *redlock.Client) {
	mux.Use(asynqlock.Middleware(client, func(t *asynq.Task) string { return t.Type() }))
}
`,
	"adapter/cron": `import (
	"context"

	"github.com/robfig/cron/v3"

	"github.com/redlock-go/redlock"
	cronlock "github.com/redlock-go/redlock/adapter/cron"
	"github.com/redlock-go/redlock/fence"
)

func use(ctx context.Context, client *redlock.Client) cron.Job {
	return cronlock.Job(ctx, client, "report", cron.DefaultLogger, func(context.Context, fence.Token) error { return nil })
}
`,
	"adapter/gocron": `import (
	"github.com/go-co-op/gocron/v2"

	"github.com/redlock-go/redlock"
	gocronlock "github.com/redlock-go/redlock/adapter/gocron"
)

func use(client *redlock.Client) (gocron.Scheduler, error) {
	return gocron.NewScheduler(gocron.WithDistributedLocker(gocronlock.NewLocker(client)))
}
`,
	"cmd/redlock": `import (
	"net/http"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/cmd/redlock/agent"
)

func use(client *redlock.Client) http.Handler { return agent.New(client, agent.Config{}) }
`,
	"guard/redisguard": `import (
	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/redisguard"
)

func use(client redis.UniversalClient) (fence.Guard, error) { return redisguard.New(client) }
`,
	"guard/sqlguard": `import (
	"database/sql"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/sqlguard"
)

func use(db *sql.DB) (fence.Guard, error) { return sqlguard.New(db, sqlguard.PostgreSQL) }
`,
	"redlockotel": `import (
	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlockotel"
)

func use(urls []string) (*redlock.Client, error) {
	observer, err := redlockotel.NewObserver()
	if err != nil {
		return nil, err
	}
	return redlock.Open(urls, redlock.WithObserver(observer))
}
`,
}

// testOfUser is a test that a user of the root module has.
const testOfUser = `package user

import (
	"testing"

	"github.com/redlock-go/redlock/redlocktest"
)

func TestPayroll(t *testing.T) {
	lock, err := redlocktest.New(t).Client().Lock(t.Context(), "payroll")
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}
`

func TestUsersCanGetTheModules(t *testing.T) {
	if os.Getenv("CI") == "" {
		t.Skip("NOT RUN outside CI: each module is built as a user gets it, with all that it needs, which may be downloaded")
	}
	t.Parallel()
	r := tagged(t)
	if programs := slices.Sorted(maps.Keys(programs)); !slices.Equal(programs, r.modules) {
		t.Fatalf("ci/release-tags.sh tags the modules %v, and there are programs for %v", r.modules, programs)
	}
	for _, dir := range r.modules {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			user, got := t.TempDir(), path.Join(module, dir)
			write(t, filepath.Join(user, "user.go"), "package user\n\n"+programs[dir]+"\nvar _ = use\n")
			run(t, user, r.env, "go", "mod", "init", "example.com/user")
			run(t, user, r.env, "go", "get", got+"@"+r.version)
			run(t, user, r.env, "go", "build", ".")
			if _, err := os.Stat(filepath.Join(r.cache, got+"@"+r.version, "LICENSE")); err != nil {
				t.Error("the module has no license:", err)
			}
			if dir == "." {
				sumsOfUser(t, r, user)
			}
		})
	}
	t.Run("cmd/redlock", func(t *testing.T) {
		t.Parallel()
		bin := t.TempDir()
		run(t, bin, append(r.env, "GOBIN="+bin), "go", "install", module+"/cmd/redlock@"+r.version)
		if said := run(t, bin, r.env, "./redlock", "--version"); !strings.HasPrefix(said, "redlock "+r.version+" ") {
			t.Errorf("redlock --version says %q", said)
		}
	})
}

// sumsOfUser tells what a user of the root module has in go.sum, after go get and after go mod
// tidy, which adds what the tests of the root module need.
func sumsOfUser(t *testing.T, r release, user string) {
	lines := func() []string {
		return slices.Collect(strings.Lines(read(t, filepath.Join(user, "go.sum"))))
	}
	afterGet := len(lines())
	write(t, filepath.Join(user, "user_test.go"), testOfUser)
	// With -e, because the tests of other modules may need what is not on this machine.
	run(t, user, r.env, "go", "mod", "tidy", "-e")
	run(t, user, r.env, "go", "test", ".")
	afterTidy := lines()
	var ofDocker []string
	for _, line := range afterTidy {
		if dockers.MatchString(line) {
			ofDocker = append(ofDocker, strings.Fields(line)[0])
		}
	}
	ofDocker = slices.Compact(ofDocker)
	t.Logf("go.sum of a user has %d lines after go get, %d after go mod tidy; modules of Docker's: %v", afterGet, len(afterTidy), ofDocker)
	if len(ofDocker) > 0 {
		t.Error("a user of the root module gets modules of Docker's")
	}
}

type release struct {
	version string
	modules []string // the directories of those that are tagged
	cache   string   // GOMODCACHE
	env     []string // of a user
}

// tagged makes a repository of the work tree with the tags of the newest version in CHANGELOG.md,
// and the environment in which the go command finds it on GitHub.
func tagged(t *testing.T) release {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	newest := regexp.MustCompile(`(?m)^## (v\S+)`).FindStringSubmatch(read(t, filepath.Join(root, "CHANGELOG.md")))
	if newest == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	version := newest[1]
	commands := run(t, root, os.Environ(), "ci/release-tags.sh", version)

	dir := t.TempDir()
	origin, work, cache := filepath.Join(dir, "origin"), filepath.Join(dir, "work"), filepath.Join(dir, "mod")
	write(t, filepath.Join(dir, "gitconfig"), fmt.Sprintf(`[user]
	name = nobody
	email = nobody@example.com
[url "file://%s"]
	insteadOf = https://%s
`, origin, module))
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+filepath.Join(dir, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1")
	run(t, dir, env, "git", "init", "-q", "--bare", origin)
	run(t, dir, env, "git", "init", "-q", "--bare", work)
	ours := append(env, "GIT_DIR="+work, "GIT_WORK_TREE="+root)
	run(t, root, ours, "git", "add", "--all")
	run(t, root, ours, "git", "commit", "-q", "-m", version)
	run(t, root, ours, "git", "remote", "add", "origin", origin)
	run(t, root, ours, "sh", "-e", "-c", commands)

	var modules []string
	for tag := range strings.FieldsSeq(run(t, dir, append(env, "GIT_DIR="+origin), "git", "tag")) {
		modules = append(modules, path.Dir(tag))
	}
	slices.Sort(modules)

	machine := strings.Fields(run(t, root, os.Environ(), "go", "env", "GOMODCACHE", "GOPROXY"))
	return release{version, modules, cache, append(env,
		"GOMODCACHE="+cache, // apart from that of the machine, which must not take these for the real ones
		"GONOPROXY="+module, // from the tags
		"GOPROXY=file://"+filepath.ToSlash(machine[0])+"/cache/download,"+machine[1],
		"GOSUMDB=off", // it does not know these, and may be out of reach
		"GOWORK=off",
		// Without -trimpath the other modules are compiled anew for each run, since their directory
		// is another one.
		"GOFLAGS=-modcacherw -trimpath",
	)}
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte(text), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
