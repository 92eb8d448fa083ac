package docs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/redlock-go/redlock/internal/documents"
	"github.com/redlock-go/redlock/internal/testskip"
)

const module = "github.com/redlock-go/redlock"

var (
	link      = regexp.MustCompile(`\]\(([^)\s]*)\)|(?m:^\[[^\]]+\]:\s*(\S+))|(?:href|src)="([^"]*)"`)
	anyTarget = regexp.MustCompile(`\]\(`)
	bareURL   = regexp.MustCompile(`\bhttps?://[^\s)>"]+`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notKept   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Every link from one document of the repository to another finds its file and its heading. Those
// to other places can be read as the address of a page; whether the page is there is asked each
// night, by ci/links.sh.
func TestLinksFindTheirTargets(t *testing.T) {
	own := 0
	linked := map[string]bool{}
	for _, d := range all(t) {
		prose := d.Prose()
		matches := link.FindAllStringSubmatch(prose, -1)
		inline := 0
		for _, match := range matches {
			if match[0][0] == ']' {
				inline++
			}
			target := match[1] + match[2] + match[3]
			var err error
			if strings.Contains(target, ":") {
				err = external(target)
			} else {
				own++
				err = internal(t, d.Path, target)
				linked[path.Join(path.Dir(d.Path), target)] = true
			}
			if err != nil {
				t.Errorf("%s: %s: %v", d.Path, target, err)
			}
		}
		if count := len(anyTarget.FindAllString(prose, -1)); count != inline {
			t.Errorf("%s: %d of %d links can be read", d.Path, inline, count)
		}
		for _, address := range bareURL.FindAllString(prose, -1) {
			if err := external(address); err != nil {
				t.Errorf("%s: %s: %v", d.Path, address, err)
			}
		}
	}
	if own == 0 {
		t.Error("no links")
	}
	pictures, err := filepath.Glob("*/*.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, picture := range pictures {
		if at := path.Join("docs", filepath.ToSlash(picture)); !linked[at] {
			t.Errorf("%s: no document shows it", at)
		}
	}
}

// ci/links.sh prints the dead links and no others. Its proxy is the server here, which so is every
// host.
func TestDeadLinksAreFound(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("curl")
	testskip.IfLacking(t, err, exec.ErrNotFound)
	var late atomic.Int64
	hosts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Host != "pages.test":
			t.Errorf("it asked for %s", r.URL)
		case r.URL.Path == "/there", r.URL.Path == "/no-head" && r.Method == http.MethodGet:
		case r.URL.Path == "/late" && r.Method == http.MethodHead && late.Add(1) > 1:
		case r.URL.Path == "/late":
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/for-people":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/there", http.StatusMovedPermanently)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(hosts.Close)
	folder := t.TempDir()
	for name, text := range map[string]string{
		"page.md": "[a](http://pages.test/there) and <http://pages.test/no-head>, `http://pages.test/late`.\n" +
			"Dead: http://pages.test/gone, [b](http://pages.test/moved/away).\n\n" +
			"[c]: http://pages.test/for-people\n[d]: http://pages.test/moved#part\n" +
			"http://localhost:1/ http://127.0.0.1:1 http://redlock.example.com/x http://example redis://pages.test/db\n",
		"code.go": "package code\n\n// Not there either: http://pages.test/gone.\nconst a = `http://pages.test/in-code`\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := exec.Command("bash", "../ci/links.sh", folder)
	script.Env = append(os.Environ(), "http_proxy="+hosts.URL, "no_proxy=")
	out, err := script.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	const want = "./page.md:2: http://pages.test/gone: 404\n./code.go:3: http://pages.test/gone: 404\n./page.md:2: http://pages.test/moved/away: 404\n"
	if string(out) != want {
		t.Errorf("it printed\n%swant\n%s", out, want)
	}
}

// internal follows a link from a document of the repository to a file or a heading of it.
func internal(t *testing.T, from, target string) error {
	t.Helper()
	file, anchor, hasAnchor := strings.Cut(target, "#")
	at := from
	if file != "" {
		at = path.Join(path.Dir(from), file)
	}
	if strings.HasPrefix(at, "..") || strings.HasPrefix(target, "/") {
		return fmt.Errorf("outside of the repository")
	}
	if err := exists(at); err != nil {
		return err
	}
	if hasAnchor && (path.Ext(at) != ".md" || !anchors(documents.Document{Text: read(t, filepath.Join("..", at))})[anchor]) {
		return fmt.Errorf("no such heading")
	}
	return nil
}

// external looks at the address of a page elsewhere. One that is this module's must be in the
// repository.
func external(target string) error {
	address, err := url.Parse(target)
	if err != nil {
		return err
	}
	if address.Scheme != "https" || !strings.Contains(address.Host, ".") {
		return fmt.Errorf("no https address")
	}
	page := address.Host + strings.TrimSuffix(address.Path, "/")
	if inModule, is := strings.CutPrefix(page, "pkg.go.dev/"+module); is {
		return exists("." + inModule)
	}
	if inModule, is := strings.CutPrefix(page, module+"/"); is {
		for _, kind := range []string{"blob/main/", "tree/main/"} {
			if file, is := strings.CutPrefix(inModule, kind); is {
				return exists(file)
			}
		}
	}
	return nil
}

// exists looks for what has this path from the root of the repository.
func exists(name string) error {
	if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(name))); err != nil {
		return fmt.Errorf("no such file")
	}
	return nil
}

// anchors are the names that headings get on GitHub.
func anchors(d documents.Document) map[string]bool {
	names := make(map[string]bool)
	for _, match := range heading.FindAllStringSubmatch(d.Unfenced(), -1) {
		text := link.ReplaceAllString(match[1], "]")
		name := strings.ReplaceAll(notKept.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
		unique := name
		for i := 1; names[unique]; i++ {
			unique = fmt.Sprintf("%s-%d", name, i)
		}
		names[unique] = true
	}
	return names
}

var (
	pathInCode    = regexp.MustCompile(`^(?:\./)?(\w[\w.-]*)(?:/[\w.-]+)+/?$`)
	tag           = regexp.MustCompile(`/v\d+\.\d+\.\d+$`) // of a module below the root
	documentNamed = regexp.MustCompile(`\b(?:docs|spec)/[\w/-]+\.md\b`)
)

// namesFile tells whether code is the name of a file or folder in the repository, as one that
// begins with a folder of it is, and whether that is there. (A program that was built in the root
// is no folder.)
func namesFile(root fs.FS, code string) (is, there bool) {
	match := pathInCode.FindStringSubmatch(code)
	if match == nil || tag.MatchString(code) {
		return false, false
	}
	if info, err := fs.Stat(root, match[1]); err != nil || !info.IsDir() {
		return false, false
	}
	_, err := fs.Stat(root, path.Clean(code))
	return true, err == nil
}

func TestNamesFile(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{"pages/A.md": {}, "redlock": {Mode: 0o755}} // as go build -o redlock makes it
	for code, want := range map[string][2]bool{
		"pages/A.md":       {true, true},
		"./pages/A.md":     {true, true},
		"pages/":           {false, false},
		"pages/B.md":       {true, false},
		"pages/B/":         {true, false},
		"pages/v0.1.0":     {false, false},
		"redlock/x":        {false, false},
		"elsewhere/A.md":   {false, false},
		"go run ./pages/B": {false, false},
	} {
		if is, there := namesFile(root, code); want != [2]bool{is, there} {
			t.Errorf("%s: a name %t, there %t; want %v", code, is, there, want)
		}
	}
}

// Files and folders that documents name in code are there, and so are documents that anything else
// names.
func TestNamedFilesExist(t *testing.T) {
	named := 0
	for _, d := range all(t) {
		for _, span := range d.Spans() {
			is, there := namesFile(os.DirFS(".."), span.Text)
			if is {
				named++
			}
			if is && !there {
				t.Errorf("%s:%d: %s: no such file", d.Path, span.Line, span.Text)
			}
		}
	}
	eachFile(t, func(file, text string) {
		for _, name := range documentNamed.FindAllString(text, -1) {
			named++
			if err := exists(name); err != nil {
				t.Errorf("%s: %s: %v", file, name, err)
			}
		}
	}, ".go", ".md", ".sh", ".yaml", ".lua", ".pml")
	if named == 0 {
		t.Error("no file is named")
	}
}
