package docs_test

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/documents"
)

const module = "github.com/redlock-go/redlock"

var (
	link          = regexp.MustCompile(`\]\(([^)\s]*)\)|(?m:^\[[^\]]+\]:\s*(\S+))|(?:href|src)="([^"]*)"|\b(https?://[^\s)>"]+)`)
	heading       = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notKept       = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	pathInCode    = regexp.MustCompile(`^(?:\./)?(\w[\w.-]*)(?:/[\w.-]+)+/?$`)
	tag           = regexp.MustCompile(`/v\d+\.\d+\.\d+$`) // of a module below the root
	documentNamed = regexp.MustCompile(`\b(?:docs|spec)/[\w/-]+\.md\b`)
)

// Links within the repository lead to an existing file and heading. Other links must be well-formed URLs; ci/links.sh
// requests these URLs each night.
func TestLinks(t *testing.T) {
	own := 0
	for _, d := range all(t) {
		for _, match := range link.FindAllStringSubmatch(d.Prose(), -1) {
			target, follow := strings.Join(match[1:], ""), external
			if !strings.Contains(target, ":") {
				own++
				follow = func(target string) error { return internal(t, d.Path, target) }
			}
			if err := follow(target); err != nil {
				t.Errorf("%s: %s: %v", d.Path, target, err)
			}
		}
	}
	if own < 50 {
		t.Errorf("%d links", own)
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

// external checks the address of a page elsewhere. A page of this module must be in the repository.
func external(target string) error {
	address, err := url.Parse(target)
	if err != nil {
		return err
	}
	if address.Scheme != "https" || !strings.Contains(address.Host, ".") {
		return fmt.Errorf("no https address")
	}
	page := address.Host + strings.TrimSuffix(address.Path, "/")
	for _, prefix := range []string{"pkg.go.dev/" + module, module + "/blob/main", module + "/tree/main"} {
		if inModule, is := strings.CutPrefix(page, prefix); is {
			return exists("." + inModule)
		}
	}
	return nil
}

// exists returns an error if the repository has no such path.
func exists(name string) error {
	if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(name))); err != nil {
		return fmt.Errorf("no such file")
	}
	return nil
}

// anchors returns the anchors of headings on GitHub.
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

// If a document names a file in code, and the repository has the file's folder, the file exists. If any file names a
// document, the document exists.
func TestNamedFilesExist(t *testing.T) {
	named := 0
	for _, d := range all(t) {
		for _, span := range d.Spans() {
			match := pathInCode.FindStringSubmatch(span.Text)
			if match == nil || tag.MatchString(span.Text) {
				continue
			}
			if info, err := os.Stat(filepath.Join("..", match[1])); err != nil || !info.IsDir() {
				continue
			}
			if named++; exists(span.Text) != nil {
				t.Errorf("%s:%d: %s: no such file", d.Path, span.Line, span.Text)
			}
		}
	}
	eachFile(t, func(file, text string) {
		for _, name := range documentNamed.FindAllString(text, -1) {
			if named++; exists(name) != nil {
				t.Errorf("%s: %s: no such file", file, name)
			}
		}
	}, ".go", ".md", ".sh", ".yaml", ".lua", ".pml")
	if named == 0 {
		t.Error("no file is named")
	}
}
