// Package release_test gets the modules as their users will, from the tags of a release.
package release_test

import (
	"fmt"
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

// dockers matches modules that only the harness of our tests needs. Security scanners flag them.
var dockers = regexp.MustCompile(`(?m)^github\.com/(docker|moby|opencontainers|ory/dockertest)\S*`)

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

// A user's program gets each module with go get and go mod tidy, and builds with all packages. Without REDLOCK_LONG=1,
// the test gets only the root module, and does not build.
func TestUsersCanGetModules(t *testing.T) {
	if os.Getenv("CI") == "" {
		t.Skip("NOT RUN outside CI: modules are built as a user gets them, with all that they need, which may be downloaded")
	}
	t.Parallel()
	r, long := tagged(t), os.Getenv("REDLOCK_LONG") != ""
	for _, dir := range r.modules {
		if dir != "." && !long {
			continue
		}
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			user, got := t.TempDir(), path.Join(module, dir)
			write(t, filepath.Join(user, "user.go"), "package user\n\nimport (\n"+importsOf(t, dir)+")\n")
			if dir == "." {
				write(t, filepath.Join(user, "user_test.go"), testOfUser)
			}
			run(t, user, r.env, "go", "mod", "init", "example.com/user")
			run(t, user, r.env, "go", "get", got+"@"+r.version)
			run(t, user, r.env, "go", "mod", "tidy")
			if long {
				run(t, user, r.env, "go", "build", ".")
			}
			if _, err := os.Stat(filepath.Join(r.cache, got+"@"+r.version, "LICENSE")); err != nil {
				t.Error("the module has no license:", err)
			}
			if dir == "." {
				if long {
					run(t, user, r.env, "go", "test", "-vet=off", ".")
				}
				if flagged := dockers.FindString(read(t, filepath.Join(user, "go.sum"))); flagged != "" {
					t.Error("a user of the root module gets modules of Docker's:", flagged)
				}
			}
		})
	}
	if !long {
		return
	}
	t.Run("go install", func(t *testing.T) {
		t.Parallel()
		bin := t.TempDir()
		run(t, bin, append(r.env, "GOBIN="+bin), "go", "install", module+"/cmd/redlock@"+r.version)
		if out := run(t, bin, r.env, "./redlock", "--version"); !strings.HasPrefix(out, "redlock "+r.version+" ") {
			t.Errorf("redlock --version prints %q", out)
		}
	})
}

// importsOf returns lines that import the packages of a module that users may import.
func importsOf(t *testing.T, dir string) (lines string) {
	t.Helper()
	all := run(t, filepath.Join("../..", dir), os.Environ(), "go", "list", "-f", `{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}`, "./...")
	for pkg := range strings.FieldsSeq(all) {
		if !strings.Contains(pkg, "/internal/") {
			lines += fmt.Sprintf("\t_ %q\n", pkg)
		}
	}
	return lines
}

type release struct {
	version string
	modules []string // the directories of the tagged modules
	cache   string   // GOMODCACHE
	env     []string // the environment of a user
}

// tagged makes a repository of the work tree, with the tags of CHANGELOG.md's newest version. It returns a go
// environment that finds this repository at the modules' address on GitHub.
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
		"GOMODCACHE="+cache, // a cache of its own: the machine's cache must not keep these modules as the real ones
		"GONOPROXY="+module, // so that the modules come from the tags
		"GOPROXY=file://"+filepath.ToSlash(machine[0])+"/cache/download,"+machine[1],
		"GOSUMDB=off", // the database lacks these tags, and may be unreachable
		"GOWORK=off",
		"GOFLAGS=-modcacherw",
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
