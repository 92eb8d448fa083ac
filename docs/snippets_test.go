package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/documents"
)

// Go code in a document is copied from a Go file of this repository, from the lines between "// shown: DOCUMENT" (the
// document's path from docs) and "// end". So the code is compiled and mostly tested.
func TestGoInDocumentsIsCompiled(t *testing.T) {
	shown := shown(t)
	for _, d := range all(t) {
		for _, block := range d.Blocks() {
			if block.Language != "go" {
				continue
			}
			pieces := shown[d.Path]
			at := slices.Index(pieces, block.Text)
			if at < 0 {
				t.Errorf("%s:%d: this code is no piece of a Go file:\n%s", d.Path, block.Line, block.Text)
				continue
			}
			shown[d.Path] = slices.Delete(pieces, at, at+1)
		}
	}
	for document, pieces := range shown {
		for _, piece := range pieces {
			t.Errorf("%s does not show this piece:\n%s", document, piece)
		}
	}
}

// shown returns the pieces of Go files that documents show, by the document's path.
func shown(t *testing.T) map[string][]string {
	t.Helper()
	const begin, end = "// shown: ", "// end"
	pieces := map[string][]string{}
	eachFile(t, func(path, text string) {
		var document string
		var piece strings.Builder
		for line := range strings.Lines(text) {
			switch trimmed := strings.TrimSpace(line); {
			case strings.HasPrefix(trimmed, begin):
				document = filepath.ToSlash(filepath.Join("docs", strings.TrimPrefix(trimmed, begin)))
				piece.Reset()
			case trimmed == end && document != "":
				pieces[document] = append(pieces[document], dedent(piece.String()))
				document = ""
			case document != "":
				piece.WriteString(line)
			}
		}
		if document != "" {
			t.Errorf("%s: a piece for %s has no end", path, document)
		}
	}, ".go")
	if len(pieces) == 0 {
		t.Error("nothing is shown")
	}
	return pieces
}

// dedent removes the tabs with which all lines begin, and empty lines at the begin and the end.
func dedent(code string) string {
	code = strings.Trim(code, "\n") + "\n"
	for strings.HasPrefix(code, "\t") {
		code = strings.TrimPrefix(strings.ReplaceAll("\n"+code, "\n\t", "\n"), "\n")
	}
	return strings.TrimRight(code, "\t\n") + "\n"
}

// Each guide to migration names the version of the other library with which its code is compiled.
func TestMigrationVersions(t *testing.T) {
	for _, c := range []struct{ guide, module, dependency string }{
		{"redsync.md", "bench", "github.com/go-redsync/redsync/v4"},
		{"redislock.md", "bench", "github.com/bsm/redislock"},
		{"rueidislock.md", "bench/peers/rueidis", "github.com/redis/rueidis"},
		{"etcd.md", "bench/peers/etcd", "go.etcd.io/etcd/client/v3"},
		{"leaderelection.md", "bench/peers/leaderelection", "k8s.io/client-go"},
	} {
		version := regexp.MustCompile(`\sv\d+\.\d+(?:\.\d+)?`).FindString(documents.Document{Text: read(t, "migrate/"+c.guide)}.Prose())
		if version == "" || !strings.Contains(read(t, "../"+c.module+"/go.mod"), c.dependency+version) {
			t.Errorf("%s is about%s, and %s needs another version of %s", c.guide, version, c.module, c.dependency)
		}
	}
}
