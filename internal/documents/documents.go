// Package documents parses the Markdown files of the repository, for tests that compare them
// with the code. Only tests may import it.
package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Document is a Markdown file.
type Document struct {
	Path string // relative to the root of the repository, with slashes
	Text string
}

// All returns the documents below root. It skips folders whose name begins with a dot, except for .github.
func All(root string) ([]Document, error) {
	var all []Document
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".github":
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		all = append(all, Document{filepath.ToSlash(relative), string(text)})
		return err
	})
	return all, err
}

// Block is a fenced block.
type Block struct {
	Line     int    // of the fence that opens it
	Language string // the text after that fence
	Text     string // without the fences
}

var fenced = regexp.MustCompile("(?ms)^ *```([^\n]*)\n(.*?)^ *```$")

// Blocks returns the fenced blocks.
func (d Document) Blocks() []Block {
	var blocks []Block
	for _, at := range fenced.FindAllStringSubmatchIndex(d.Text, -1) {
		blocks = append(blocks, Block{lineAt(d.Text, at[0]), d.Text[at[2]:at[3]], d.Text[at[4]:at[5]]})
	}
	return blocks
}

// Unfenced returns the text with empty lines instead of fenced blocks.
func (d Document) Unfenced() string { return fenced.ReplaceAllStringFunc(d.Text, onlyNewlines) }

// Prose returns the text without code, which may be fenced, indented or between backticks.
func (d Document) Prose() string {
	return span.ReplaceAllStringFunc(indented.ReplaceAllStringFunc(d.Unfenced(), onlyNewlines), onlyNewlines)
}

var (
	span     = regexp.MustCompile("`(?:[^`\n]|\n[^`\n])+`") // not across an empty line
	indented = regexp.MustCompile(`(?m)^ {4,}.*$`)
)

// Spans returns the pieces of code between backticks, without the backticks.
func (d Document) Spans() []Code {
	var spans []Code
	text := indented.ReplaceAllStringFunc(d.Unfenced(), onlyNewlines)
	for _, at := range span.FindAllStringIndex(text, -1) {
		code := strings.ReplaceAll(text[at[0]+1:at[1]-1], "\n", " ")
		if lineOfTable(text, at[0]) {
			code = strings.ReplaceAll(code, `\|`, "|")
		}
		spans = append(spans, Code{lineAt(text, at[0]), code})
	}
	return spans
}

// Lines returns the lines of indented code, and of fenced blocks that name no language. It strips the indentation.
func (d Document) Lines() []Code {
	var lines []Code
	text := d.Unfenced()
	for _, at := range indented.FindAllStringIndex(text, -1) {
		lines = append(lines, Code{lineAt(text, at[0]), strings.TrimSpace(text[at[0]:at[1]])})
	}
	for _, block := range d.Blocks() {
		if block.Language != "" {
			continue
		}
		line := block.Line
		for text := range strings.Lines(block.Text) {
			line++
			if strings.HasPrefix(text, "  ") { // in a page of help the other lines are prose
				lines = append(lines, Code{line, strings.TrimSpace(text)})
			}
		}
	}
	return lines
}

// Code is a piece of code on one line.
type Code struct {
	Line int
	Text string
}

func lineAt(text string, offset int) int { return strings.Count(text[:offset], "\n") + 1 }

func lineOfTable(text string, offset int) bool {
	return strings.HasPrefix(text[strings.LastIndex(text[:offset], "\n")+1:], "|")
}

func onlyNewlines(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }
