package docs_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/proc"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testrights"
	"github.com/redlock-go/redlock/internal/testskip"
)

// The readiness probe of DEPLOY.md is compiled here.
var _ = func(client *redlock.Client) {
	// shown: DEPLOY.md
	http.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		if err := client.Ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	// end
}

// deployFolder returns a copy of deploy with passwords and certificates, made by the first steps of DEPLOY.md.
func deployFolder(t *testing.T) string {
	t.Helper()
	_, err := exec.LookPath("openssl")
	testskip.IfLacking(t, err, exec.ErrNotFound)
	dir := filepath.Join(t.TempDir(), "deploy")
	if err := os.CopyFS(dir, os.DirFS("../deploy")); err != nil {
		t.Fatal(err)
	}
	script(t, dir, "localhost", "127.0.0.1")
	return dir
}

// script runs secrets.sh in a copy of deploy.
func script(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := exec.Command("sh", append([]string{filepath.Join(dir, "secrets.sh")}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("secrets.sh: %v\n%s", err, out)
	}
}

// settings returns the settings of deploy/redis.conf, with the files of dir.
func settings(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(read(t, filepath.Join(dir, "redis.conf"))))
	for lines.Scan() {
		if name, value, is := strings.Cut(lines.Text(), " "); is && name != "#" {
			all[name] = strings.Replace(value, "/etc/redlock/", dir+"/", 1)
		}
	}
	return all
}

// mastersOfDeploy starts three servers with a deployFolder, and returns their URLs without userinfo.
func mastersOfDeploy(t *testing.T, dir string) (servers []*redisproc.Server, urls []string) {
	t.Helper()
	conf := settings(t, dir)
	delete(conf, "port") // redisproc sets a port of its own, to check whether the server is up
	for range 3 {
		port, err := proc.FreePort()
		must(t, err)
		conf["tls-port"] = fmt.Sprint(port)
		s, err := redisproc.Start(redisproc.Config{Conf: conf})
		testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
		must(t, err)
		t.Cleanup(func() { must(t, s.Stop()) })
		servers = append(servers, s)
		urls = append(urls, fmt.Sprintf("rediss://127.0.0.1:%s?tls_ca=%s", conf["tls-port"], filepath.Join(dir, "ca.crt")))
	}
	return servers, urls
}

// openAs opens a client of a user whose password is in a file of the folder.
func openAs(t *testing.T, dir, user, passwordFile string, urls []string) *redlock.Client {
	t.Helper()
	var with []string
	for _, url := range urls {
		with = append(with, strings.Replace(url, "//", fmt.Sprintf("//%s:%s@", user, passwordIn(t, dir, passwordFile)), 1))
	}
	client, err := redlock.Open(with, redlock.WithRequestTimeout(5*time.Second))
	must(t, err)
	t.Cleanup(func() { must(t, client.Close()) })
	return client
}

func passwordIn(t *testing.T, dir, file string) string {
	t.Helper()
	return strings.TrimSpace(read(t, filepath.Join(dir, file)))
}

// Masters with deploy's settings and users form a deployment over TLS. After all masters crashed, they have the table
// and the order of tokens, and vote at once.
func TestDeployMasters(t *testing.T) {
	t.Parallel()
	dir := deployFolder(t)
	servers, urls := mastersOfDeploy(t, dir)
	client := openAs(t, dir, "redlock", "redlock.password", urls)
	must(t, admin.Init(t.Context(), client, 0))
	first, err := client.Lock(t.Context(), "job", redlock.WithWait(time.Minute))
	must(t, err)
	must(t, first.Unlock(t.Context()))
	for _, s := range servers {
		s.Kill()
		must(t, s.Restart())
	}
	members, err := admin.Members(t.Context(), client)
	must(t, err)
	if len(members.Members) != 3 || slices.ContainsFunc(members.Members, func(m admin.Member) bool { return m.State != admin.MemberVoting }) {
		t.Errorf("after a crash the members are %+v", members.Members)
	}
	second, err := client.Lock(t.Context(), "job", redlock.WithWait(30*time.Second)) // less than the max ttl
	must(t, err)
	if second.Token() <= first.Token() {
		t.Errorf("the token was %v before the crash, and is %v after it", first.Token(), second.Token())
	}
	must(t, second.Unlock(t.Context()))
	for user, want := range map[string]string{"probe": "NOPERM", "": "NOAUTH"} {
		r := redis.NewClient(&redis.Options{Addr: servers[0].Addr(), Username: user, Password: user})
		if err := r.Get(t.Context(), "redlock:member").Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("user %q reads: %v", user, err)
		}
		must(t, r.Close())
	}
}

// During a password rotation as OPERATIONS.md describes it, no call fails, at most one master is away, and a restart
// loses nothing. Masters load the password file (systemd, compose) or restart with it (Kubernetes).
func TestDeployPasswordRotation(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"loaded", "restarted"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := deployFolder(t)
			servers, urls := mastersOfDeploy(t, dir)
			before := openAs(t, dir, "redlock", "redlock.password", urls)
			must(t, admin.Init(t.Context(), before, 0))
			locks := func(c *redlock.Client, name string) {
				lock, err := c.Lock(t.Context(), name, redlock.WithWait(time.Minute))
				must(t, err)
				must(t, lock.Unlock(t.Context()))
			}
			bring := func() {
				for _, s := range servers {
					if how == "restarted" {
						s.Kill()
						must(t, s.Restart())
					} else {
						operator := redis.NewClient(&redis.Options{Addr: s.Addr(), Username: "operator", Password: passwordIn(t, dir, "operator.password")})
						must(t, operator.Do(t.Context(), "ACL", "LOAD").Err())
						must(t, operator.Close())
					}
					locks(before, "during")
				}
			}
			script(t, dir, "rotate", "redlock")
			bring()
			after := openAs(t, dir, "redlock", "redlock.password", urls)
			locks(before, "both")
			locks(after, "both")

			before = after
			script(t, dir, "retire", "redlock")
			bring()
			for _, s := range servers {
				s.Kill()
				must(t, s.Restart())
				locks(after, "restart")
			}
		})
	}
}

// deploy's users have the rules of PROTOCOL.md and OPERATIONS.md; the user default is off, as in SECURITY.md.
func TestDeployUsers(t *testing.T) {
	t.Parallel()
	var operator string
	for line := range strings.Lines(read(t, "OPERATIONS.md")) {
		if _, rule, is := strings.Cut(line, "ACL SETUSER operator reset on >PASSWORD "); is {
			operator = rule
		}
	}
	want := "user default off ~* &* +@all\n" +
		"user operator reset on >OPERATOR-PASSWORD " + operator +
		"user probe reset on nopass +ping\n" +
		"user redlock reset on >REDLOCK-PASSWORD " + strings.Join(testrights.Rule(t, "PROTOCOL.md", "redlock"), " ") + "\n"
	if got := read(t, "../deploy/users.acl"); got != want {
		t.Errorf("users.acl is\n%swant\n%s", got, want)
	}
}
