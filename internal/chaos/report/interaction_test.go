package report

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interactions plays the reader in the page.
//
//go:embed testdata/interactions.js
var interactions string

// outcome is what the page tells of a scenario.
type outcome struct {
	Name     string
	Failures []string
	Figures  map[string]float64 // milliseconds
	Done     bool               // there are no more scenarios; nothing else is set
}

var onConsole = regexp.MustCompile(`CONSOLE:\d+\] "interactions: (.*)", source: `)

// interact opens the report in a window and has scenarios played in it; none named: all. Time runs
// there as it does for people, unlike in open, so that it can be measured.
func interact(t *testing.T, browser, report string, width, height int, scenarios ...string) map[string]outcome {
	t.Helper()
	names, err := json.Marshal(append([]string{}, scenarios...))
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("<script type=\"module\">\nconst wanted = %s, windowWidth = %d;\n%s</script>\n</body>", names, width, interactions)
	page := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(page, []byte(strings.Replace(report, "</body>", script, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 60*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), fmt.Sprintf("--window-size=%d,%d", width, height), "--enable-logging=stderr", "file://"+page)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	stderr, in := io.Pipe()
	defer stderr.Close()
	cmd.Stderr = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // stopped, which is no failure
		in.Close()
	}()

	all := map[string]outcome{}
	var done bool
	var last string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		last = lines.Text()
		told := onConsole.FindStringSubmatch(last)
		if told == nil {
			continue
		}
		var o outcome
		if err := json.Unmarshal([]byte(told[1]), &o); err != nil {
			t.Fatalf("%v: %s", err, last)
		}
		if o.Done {
			done = true
			stop()
			continue
		}
		all[o.Name] = o
		for _, failure := range o.Failures {
			t.Errorf("%s: %s", o.Name, failure)
		}
	}
	if !done {
		t.Fatalf("the scenarios did not come to their end: %s", last)
	}
	return all
}

func TestInteractions(t *testing.T) {
	all := interact(t, chromium(t), written(t, sample(10_000)), 1400, 1100)
	if n := strings.Count(interactions, "\n  async "); len(all) != n {
		t.Errorf("%d of %d scenarios were played", len(all), n)
	}
	opens, zooms := all["opens"].Figures, all["wheel zooms around the pointer"].Figures
	t.Logf("opened in %.0f ms, of which drawn in %.1f ms; zoomed in %.0f ms", opens["opened"], opens["draw"], zooms["zoom"])
	if ms := opens["opened"]; ms <= 0 || ms > 4000 {
		t.Errorf("opened in %.0f ms", ms)
	}
	if ms := zooms["zoom"]; ms <= 0 || ms > 400 {
		t.Errorf("zoomed in %.0f ms", ms)
	}
}

// The lanes do not fit into this window.
func TestInteractionsInSmallWindow(t *testing.T) {
	interact(t, chromium(t), written(t, sample(10_000)), 800, 520, "what matters is scrolled to", "the tip stays on the screen")
}
