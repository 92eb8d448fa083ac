// Package docs_test compares the documents with the code: it runs what they show, follows their
// links, and looks for the commands, tests and figures that they name.
//
// Tests that read many files, or build a program, are not parallel: they run before those in which
// leases run.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/redlock-go/redlock/internal/documents"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// all are the documents of the repository.
func all(t *testing.T) []documents.Document {
	t.Helper()
	all, err := documents.All("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("%d documents", len(all))
	}
	return all
}

// eachFile calls do with the path and the text of each file of the repository with one of these
// extensions.
func eachFile(t *testing.T, do func(path, text string), extensions ...string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			do(path, read(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
