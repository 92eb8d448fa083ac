package edits

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Together is a build with many changes, of which the environment chooses one: a build takes longer
// than most tests. An edit within a function makes a copy of that, which is called in its place. A
// script is read from a folder of the change, if it is there.
type Together struct {
	root, scratch string
	sources       map[string]*source // that are changed, by file
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

// NewTogether returns a build of the module in root. What it reads is kept in the folder scratch.
func NewTogether(root, scratch string) *Together {
	return &Together{root, scratch, make(map[string]*source)}
}

// envChosen is the environment variable with the folder of the change that is chosen. The folder is
// called by the change's name.
const envChosen = "REDLOCK_EDITS"

// Env is what chooses the change with this name. Without it, all is as before.
func (t *Together) Env(name string) string { return envChosen + "=" + t.folder(name) }

// Add adds a change, by a name that could be the end of one in Go. It reports false if the change
// has to be built by itself.
func (t *Together) Add(name string, edits []Edit) (bool, error) {
	scripts, functions := map[string][]Edit{}, map[*ast.FuncDecl][]Edit{}
	of := map[*ast.FuncDecl]*source{}
	var inOrder []*ast.FuncDecl // the same text each time is in the go command's cache
	for _, e := range edits {
		if strings.HasSuffix(e.File, ".lua") {
			scripts[e.File] = append(scripts[e.File], e)
			continue
		}
		s, err := t.source(e.File)
		if err != nil {
			return false, err
		}
		f := s.around(e)
		if f == nil {
			return false, nil
		}
		if of[f] == nil {
			inOrder = append(inOrder, f)
		}
		functions[f], of[f] = append(functions[f], e), s
	}
	copies := map[*ast.FuncDecl]string{}
	for f, all := range functions {
		copied, ok := of[f].copyOf(f, all, name)
		if !ok {
			return false, nil
		}
		copies[f] = copied
	}
	folder := t.folder(name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, err
	}
	for _, all := range scripts {
		changed, err := Apply(t.root, all)
		if err != nil {
			return false, err
		}
		for file, text := range changed {
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), []byte(text), 0o600); err != nil {
				return false, err
			}
		}
	}
	for _, f := range inOrder {
		of[f].call(f, name)
		of[f].copies.WriteString("\n" + copies[f] + "\n")
	}
	return true, nil
}

func (t *Together) folder(name string) string { return filepath.Join(t.scratch, name) }

func (t *Together) source(file string) (*source, error) {
	if s := t.sources[file]; s != nil {
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(t.root, file))
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
func (s *source) around(e Edit) *ast.FuncDecl {
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

// copyOf returns a copy of a function, with a name of its own and the edits. It reports false if
// they make anything else of it than another body.
func (s *source) copyOf(f *ast.FuncDecl, edits []Edit, name string) (string, bool) {
	signature := s.text[s.offset(f.Pos()):s.offset(f.Body.Pos())]
	text := s.text[s.offset(f.Pos()):s.offset(f.End())] + "\n"
	for _, e := range edits {
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
	return text[:at] + "__" + name + text[at:], true
}

// call has a function call its copy in its place, when the change is chosen.
func (s *source) call(f *ast.FuncDecl, name string) {
	if s.named[f] == nil {
		s.named[f] = s.name(f)
	}
	names := s.named[f]
	called := fmt.Sprintf("%s__%s(%s)", f.Name.Name, name, strings.Join(names[1:], ", "))
	if names[0] != "" {
		called = names[0] + "." + called
	}
	if f.Type.Results == nil {
		called += "; return"
	} else {
		called = "return " + called
	}
	at := s.offset(f.Body.Lbrace) + 1
	s.inserts = append(s.inserts, insert{at, 0, fmt.Sprintf(" if chosen__.Is(%q) { %s };", name, called)})
}

// name gives each parameter a name that has none, and returns all: of the receiver first, "" if
// there is none.
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
	s.inserts = append(s.inserts, insert{s.offset(s.file.Name.End()), 0, `; import chosen__ "` + chosenPackage + `"`})
	slices.SortStableFunc(s.inserts, func(a, b insert) int { return a.at - b.at })
	var out strings.Builder
	end := 0
	for _, i := range s.inserts {
		out.WriteString(s.text[end:i.at] + i.text)
		end = i.at + i.cut
	}
	return out.String() + s.text[end:] + s.copies.String()
}

// Write writes what -overlay takes, and returns its name.
func (t *Together) Write() (string, error) {
	o := NewOverlay(t.root, t.scratch)
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
	chosenFile    = "internal/edits/chosen/chosen.go"
	chosenPackage = "github.com/redlock-go/redlock/internal/edits/chosen"
)

const chosenSource = `package chosen

import (
	"os"
	"path/filepath"
)

var chosen = filepath.Base(os.Getenv("` + envChosen + `"))

// Is reports whether the change with this name is chosen.
func Is(name string) bool { return name == chosen }
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
