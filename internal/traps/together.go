package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-go/redlock/internal/edits"
)

// Most traps are built together, into one test binary for each package, and the environment tells which one is there: a build takes
// longer than most tests. An edit within a function makes a copy of that, which is called in its place. A script is read from
// a folder of the trap, if it is there.

// envChosen is the environment variable with the folder of the trap that is there. The folder is called by the trap's number.
const envChosen = "REDLOCK_TRAP"

// together is what is built for many traps at once.
type together struct {
	scratch  string
	sources  map[string]*source // that are changed, by file
	includes map[int]bool       // traps, by number; the others are built by themselves
}

// source is a Go file, and what is to be inserted where.
type source struct {
	text    string
	fset    *token.FileSet
	file    *ast.File
	inserts []insert
	copies  strings.Builder // of functions, which stand behind all
	named   map[*ast.FuncDecl][]string
}

type insert struct {
	at, cut int // where, and how many bytes it takes the place of
	text    string
}

// add makes the trap one of those that are built together, or reports false.
func (t *together) add(root string, number int, trap trap) (bool, error) {
	scripts, functions := map[string][]edits.Edit{}, map[*ast.FuncDecl][]edits.Edit{}
	of := map[*ast.FuncDecl]*source{}
	for _, e := range trap.edits {
		if strings.HasSuffix(e.File, ".lua") {
			scripts[e.File] = append(scripts[e.File], e)
			continue
		}
		s, err := t.source(root, e.File)
		if err != nil {
			return false, err
		}
		f := s.around(e)
		if f == nil {
			return false, nil
		}
		functions[f], of[f] = append(functions[f], e), s
	}
	copies := map[*ast.FuncDecl]string{}
	for f, all := range functions {
		copied, ok := of[f].copyOf(f, all, number)
		if !ok {
			return false, nil
		}
		copies[f] = copied
	}
	folder := t.folder(number)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, err
	}
	for _, all := range scripts {
		changed, err := edits.Apply(root, all)
		if err != nil {
			return false, err
		}
		for file, text := range changed {
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), []byte(text), 0o600); err != nil {
				return false, err
			}
		}
	}
	for f, text := range copies {
		of[f].call(f, number)
		of[f].copies.WriteString("\n" + text + "\n")
	}
	t.includes[number] = true
	return true, nil
}

func (t *together) folder(number int) string { return filepath.Join(t.scratch, strconv.Itoa(number)) }

func (t *together) source(root, file string) (*source, error) {
	if s := t.sources[file]; s != nil {
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	s := &source{text: string(text), fset: token.NewFileSet(), named: map[*ast.FuncDecl][]string{}}
	if s.file, err = parser.ParseFile(s.fset, file, text, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	t.sources[file] = s
	return s, nil
}

func (s *source) offset(at token.Pos) int { return s.fset.Position(at).Offset }

// around returns the function that an edit is within, or nil.
func (s *source) around(e edits.Edit) *ast.FuncDecl {
	from := strings.Index(s.text, e.Old)
	if from < 0 {
		return nil // it is of what another edit made
	}
	for _, d := range s.file.Decls {
		f, is := d.(*ast.FuncDecl)
		if is && f.Body != nil && s.offset(f.Pos()) <= from && from+len(strings.TrimRight(e.Old, "\n")) <= s.offset(f.End()) {
			return f
		}
	}
	return nil
}

// copyOf returns a copy of a function, with a name of its own and the edits. It reports false if they make anything else of it than
// another body.
func (s *source) copyOf(f *ast.FuncDecl, all []edits.Edit, number int) (string, bool) {
	signature := s.text[s.offset(f.Pos()):s.offset(f.Body.Pos())]
	text := s.text[s.offset(f.Pos()):s.offset(f.End())] + "\n"
	for _, e := range all {
		var err error
		if text, err = e.In(text); err != nil {
			return "", false
		}
	}
	const before = "package p\n"
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "", before+text, parser.SkipObjectResolution)
	if err != nil || len(parsed.Decls) != 1 || !strings.HasPrefix(text, signature) {
		return "", false
	}
	at := s.offset(f.Name.End()) - s.offset(f.Pos())
	return text[:at] + fmt.Sprint("__", number) + text[at:], true
}

// call has a function call its copy in its place, when the trap is there.
func (s *source) call(f *ast.FuncDecl, number int) {
	if s.named[f] == nil {
		s.named[f] = s.name(f)
	}
	names := s.named[f]
	called := fmt.Sprintf("%s__%d(%s)", f.Name.Name, number, strings.Join(names[1:], ", "))
	if names[0] != "" {
		called = names[0] + "." + called
	}
	if f.Type.Results == nil {
		called += "; return"
	} else {
		called = "return " + called
	}
	at := s.offset(f.Body.Lbrace) + 1
	s.inserts = append(s.inserts, insert{at, 0, fmt.Sprintf(" if trap__.Is(%d) { %s };", number, called)})
}

// name gives each parameter a name that has none, and returns all: of the receiver first, "" if there is none.
func (s *source) name(f *ast.FuncDecl) []string {
	names := []string{""}
	if f.Recv != nil {
		names = s.nameFields(f.Recv, "r__")
	}
	return append(names, s.nameFields(f.Type.Params, "p__")...)
}

func (s *source) nameFields(list *ast.FieldList, prefix string) (names []string) {
	for _, field := range list.List {
		suffix := ""
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			suffix = "..."
		}
		if field.Names == nil {
			name := fmt.Sprint(prefix, len(names))
			s.inserts = append(s.inserts, insert{s.offset(field.Pos()), 0, name + " "})
			names = append(names, name+suffix)
		}
		for _, ident := range field.Names {
			name := ident.Name
			if name == "_" {
				name = fmt.Sprint(prefix, len(names))
				s.inserts = append(s.inserts, insert{s.offset(ident.Pos()), 1, name})
			}
			names = append(names, name+suffix)
		}
	}
	return names
}

// changed is the text with all that is inserted.
func (s *source) changed() string {
	if len(s.inserts) == 0 {
		return s.text
	}
	s.inserts = append(s.inserts, insert{s.offset(s.file.Name.End()), 0, `; import trap__ "` + chosenPackage + `"`})
	slices.SortStableFunc(s.inserts, func(a, b insert) int { return a.at - b.at })
	var out strings.Builder
	end := 0
	for _, i := range s.inserts {
		out.WriteString(s.text[end:i.at] + i.text)
		end = i.at + i.cut
	}
	return out.String() + s.text[end:] + s.copies.String()
}

// write writes the overlay.
func (t *together) write(root string) (string, error) {
	o := edits.NewOverlay(root, t.scratch)
	files := map[string]string{"scripts/scripts.go": scriptsSource, chosenFile: chosenSource}
	for file, s := range t.sources {
		files[file] = s.changed()
	}
	for file, text := range files {
		if _, err := o.Put(file, []byte(text)); err != nil {
			return "", err
		}
	}
	return o.Write()
}

const (
	chosenFile    = "internal/traps/chosen/chosen.go"
	chosenPackage = "github.com/redlock-go/redlock/internal/traps/chosen"
)

const chosenSource = `package chosen

import (
	"os"
	"path/filepath"
	"strconv"
)

var number, _ = strconv.Atoi(filepath.Base(os.Getenv("` + envChosen + `")))

// Is reports whether the trap with this number is there.
func Is(trap int) bool { return trap == number }
`

const scriptsSource = `package scripts

import (
	"embed"
	"os"
	"path/filepath"
)

//go:embed *.lua
var embedded embed.FS

type files struct{}

var Files files

func (files) ReadFile(name string) ([]byte, error) {
	if changed, err := os.ReadFile(filepath.Join(os.Getenv("` + envChosen + `"), name)); err == nil {
		return changed, nil
	}
	return embedded.ReadFile(name)
}
`
