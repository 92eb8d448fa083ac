// Package docs_test compares the documents with the code: it runs what they show, follows their
// links, and looks for the names and commands in them.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/redlock-go/redlock/internal/documents"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func all(t *testing.T) []documents.Document {
	t.Helper()
	all, err := documents.All("..")
	must(t, err)
	if len(all) < 10 {
		t.Fatalf("%d documents", len(all))
	}
	return all
}

// eachFile calls a function for each file of the repository that has one of these extensions.
func eachFile(t *testing.T, do func(path, text string), extensions ...string) {
	t.Helper()
	must(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			do(path, read(t, path))
		}
		return nil
	}))
}
