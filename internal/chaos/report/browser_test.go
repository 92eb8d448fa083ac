package report

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/testskip"
)

// chromium is Debian's. Its page notes on <html> what it drew.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	testskip.IfLacking(t, err, exec.ErrNotFound)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// drawn is what the page noted.
type drawn struct {
	counts   map[string]int
	lanes    int
	from, to int
	scheme   string
	failure  string
}

var (
	root      = regexp.MustCompile(`<html[^>]*>`)
	attribute = regexp.MustCompile(`data-([a-z]+)="([^"]*)"`)
)

// open shows the page in the browser, at the window that hash tells.
func open(t *testing.T, browser, page, hash string, dark bool) drawn {
	t.Helper()
	scheme := "1"
	if dark {
		scheme = "0"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--window-size=1400,1100", "--virtual-time-budget=3000",
		"--blink-settings=preferredColorScheme="+scheme, "--dump-dom", "file://"+page+hash)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	noted := map[string]string{}
	for _, a := range attribute.FindAllStringSubmatch(root.FindString(stdout.String()), -1) {
		noted[a[1]] = html.UnescapeString(a[2])
	}
	d := drawn{scheme: noted["scheme"], failure: noted["error"]}
	d.lanes, _ = strconv.Atoi(noted["lanes"])
	d.from, _ = strconv.Atoi(noted["from"])
	d.to, _ = strconv.Atoi(noted["to"])
	if err := json.Unmarshal([]byte(noted["drawn"]), &d.counts); err != nil {
		t.Fatalf("the page was not drawn: %v, %q", noted, stderr.String())
	}
	return d
}

func TestInBrowser(t *testing.T) {
	browser := chromium(t)
	events := sample(10_000)
	page := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(page, []byte(written(t, events)), 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	line := newTimeline(events.Events)
	for _, l := range line.Lanes {
		for _, s := range l.Spans {
			want[string(s.Kind)]++
		}
		for _, m := range l.Marks {
			want[string(m.Kind)]++
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		all := open(t, browser, page, "", scheme == "dark")
		if all.failure != "" || all.scheme != scheme || all.lanes != 1+5+8 || all.to != int(line.End) {
			t.Errorf("%s: %+v", scheme, all)
		}
		for _, kind := range []string{"holding", "waiting", "wrong", "refused", "unfenced", "fault", "down", "frozen", "clock", "stopped"} {
			if want[kind] == 0 || all.counts[kind] != want[kind] {
				t.Errorf("%s: %d of %d %s drawn", scheme, all.counts[kind], want[kind], kind)
			}
		}
		near := open(t, browser, page, "#from=80&to=82.5&lock=orders", scheme == "dark")
		if near.failure != "" || near.from != 80_000_000 || near.to != 82_500_000 || near.scheme != scheme {
			t.Errorf("%s: zoomed %+v", scheme, near)
		}
		if n := near.counts["holding"]; n == 0 || n > all.counts["holding"]/10 || near.counts["wrote"] == 0 {
			t.Errorf("%s: zoomed, %v drawn", scheme, near.counts)
		}
	}
}

// A page whose script fails says so, to the test above too.
func TestBrokenPageTells(t *testing.T) {
	browser := chromium(t)
	text := strings.Replace(written(t, sample(100)), "const whole =", "throw new Error('planted'); const whole =", 1)
	text = strings.Replace(text, "<html", `<html data-drawn="{}"`, 1)
	page := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := open(t, browser, page, "", false); !strings.Contains(d.failure, "planted") {
		t.Errorf("%+v", d)
	}
}
