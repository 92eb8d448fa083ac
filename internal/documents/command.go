package documents

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Command is a command in a document.
type Command struct {
	Where string   // the document and the line, for errors
	Words []string // as a shell would split them
	Dir   string   // the directory in which it runs, relative to the root of the repository
	Whole bool     // true: a line of code, which can be run as it is; false: words in a sentence
}

// Commands returns the commands of a document, and words in backticks that may be a command. It skips
// text with an unterminated quotation.
func (d Document) Commands() []Command {
	var all []Command
	add := func(code Code, whole bool) {
		simple, err := split(code.Text)
		if err != nil {
			return
		}
		dir := "."
		for _, words := range simple {
			for len(words) > 1 && assignment.MatchString(words[0]) {
				words = words[1:]
			}
			if words[0] == "cd" && len(words) == 2 {
				dir = path.Join(dir, words[1])
			}
			all = append(all, Command{fmt.Sprintf("%s:%d", d.Path, code.Line), words, dir, whole})
		}
	}
	for _, line := range d.Lines() {
		add(line, true)
	}
	for _, span := range d.Spans() {
		add(span, false)
	}
	return all
}

var assignment = regexp.MustCompile(`^[A-Z_]+=`)

// split splits text as a shell does: into commands at &&, ||, |, & and ;, and each command into words. A # at the
// beginning of a word begins a comment. split expands nothing.
func split(text string) (commands [][]string, err error) {
	var words []string
	var word strings.Builder
	begun := false
	endWord := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words = nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t':
			endWord()
		case '&', '|', ';':
			endCommand()
		case '#':
			if !begun {
				endCommand()
				return commands, nil
			}
			word.WriteByte(c)
		case '\'', '"':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				return nil, fmt.Errorf("no end of %c in %s", c, text)
			}
			word.WriteString(text[i+1 : i+1+end])
			begun = true
			i += end + 1
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	endCommand()
	return commands, nil
}
