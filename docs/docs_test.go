// Package docs_test runs the code that the documents show, and follows their links.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each piece of these files between "// shown: DOCUMENT" and "// end" is in the document, to the letter.
func TestDocumentsShowWhatRuns(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, source := range sources {
		text := read(t, source)
		for {
			_, rest, found := strings.Cut(text, "// shown: ")
			if !found {
				break
			}
			document, rest, _ := strings.Cut(rest, "\n")
			code, rest, ended := cutLine(rest, "// end")
			if !ended {
				break // the words in this file
			}
			text = rest
			shown++
			if !strings.Contains(read(t, document), "```go\n"+dedent(code)+"```") {
				t.Errorf("%s does not show this piece of %s:\n%s", document, source, dedent(code))
			}
		}
	}
	if shown == 0 {
		t.Error("nothing is shown")
	}
}

// cutLine cuts text around the line that is only mark.
func cutLine(text, mark string) (before, after string, found bool) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == mark {
			return b.String(), text[b.Len()+len(line):], true
		}
		b.WriteString(line)
	}
	return text, "", false
}

// dedent takes off the tabs that all lines begin with, and empty lines around.
func dedent(code string) string {
	code = strings.Trim(code, "\n") + "\n"
	for strings.HasPrefix(code, "\t") {
		code = strings.TrimPrefix(strings.ReplaceAll("\n"+code, "\n\t", "\n"), "\n")
	}
	return strings.TrimRight(code, "\t\n") + "\n"
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	notKept = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Every link from one document of the repository to another finds its file and its heading.
func TestLinksFindTheirTargets(t *testing.T) {
	t.Parallel()
	links := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, path), ""), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(match[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: no such file", path, match[1])
			} else if anchor != "" && !anchors(read(t, target))[anchor] {
				t.Errorf("%s: %s: no such heading", path, match[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if links == 0 {
		t.Error("no links")
	}
}

// anchors are the names that headings get on GitHub.
func anchors(document string) map[string]bool {
	names := make(map[string]bool)
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(document, ""), -1) {
		name := notKept.ReplaceAllString(strings.ToLower(match[1]), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
