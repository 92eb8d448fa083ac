// Package docs_test compares the documents with the code: it runs what they show, follows their links, and looks for the commands,
// tests and figures that they name.
//
// Tests that read many files, or build a program, are not parallel: they run before those in which leases run.
package docs_test

import (
	"os"
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
