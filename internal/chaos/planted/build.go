package planted

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// chosenVariable is the environment variable with the folder of the chosen bug.
const chosenVariable = "REDLOCK_PLANTED"

// Env returns the environment variable that chooses the bug in a process of the build.
func Env(scratch, bug string) string { return chosenVariable + "=" + filepath.Join(scratch, bug) }

// Build writes the changed sources of the library in root, with all bugs, to the folder scratch. It returns the file
// for the go command's -overlay. For each bug, a changed function has a copy with the bug, and calls the copy if the
// bug is chosen. A script is read from the folder of the chosen bug, if that folder has the script.
func Build(root, scratch string) (overlay string, err error) {
	bugs, err := Bugs()
	if err != nil {
		return "", err
	}
	b := build{root: root, scratch: scratch, sources: make(map[string]*source)}
	var errs []error
	for _, bug := range bugs {
		if err := b.add(bug); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", bug.Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return b.write()
}

type build struct {
	root, scratch string
	sources       map[string]*source // the changed sources, by file
}

// source is a Go file and its changes.
type source struct {
	text    string
	fset    *token.FileSet
	file    *ast.File
	inserts []insert
	copies  strings.Builder            // changed copies of functions, appended to the file
	named   map[*ast.FuncDecl][]string // the names of receivers and parameters
}

// insert is a text and the bytes of the file that it replaces: their offset (at) and number (cut).
type insert struct {
	at, cut int
	text    string
}

func (b *build) add(bug Bug) error {
	scripts, functions := []edit{}, map[*ast.FuncDecl][]edit{}
	of := map[*ast.FuncDecl]*source{}
	var inOrder []*ast.FuncDecl // in a fixed order, so that the text is the same each time and the go command can cache the build
	for _, e := range bug.edits {
		if strings.HasSuffix(e.file, ".lua") {
			scripts = append(scripts, e)
			continue
		}
		s, err := b.source(e.file)
		if err != nil {
			return err
		}
		f := s.around(e)
		if f == nil {
			return fmt.Errorf("%s: no function has this text:\n%s", e.file, e.old)
		}
		if of[f] == nil {
			inOrder = append(inOrder, f)
		}
		functions[f], of[f] = append(functions[f], e), s
	}
	for _, f := range inOrder {
		if err := of[f].plant(f, functions[f], bug.Name); err != nil {
			return err
		}
	}
	folder := filepath.Join(b.scratch, bug.Name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	changed, err := applyAll(b.root, scripts)
	if err != nil {
		return err
	}
	for file, text := range changed {
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (b *build) source(file string) (*source, error) {
	if s := b.sources[file]; s != nil {
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(b.root, file))
	if err != nil {
		return nil, err
	}
	s := &source{text: string(text), fset: token.NewFileSet(), named: map[*ast.FuncDecl][]string{}}
	if s.file, err = parser.ParseFile(s.fset, file, text, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	b.sources[file] = s
	return s, nil
}

func (s *source) offset(at token.Pos) int { return s.fset.Position(at).Offset }

// around returns the function that contains the old text of an edit, or nil.
func (s *source) around(e edit) *ast.FuncDecl {
	from := strings.Index(s.text, e.old)
	for _, d := range s.file.Decls {
		f, is := d.(*ast.FuncDecl)
		if is && from >= 0 && f.Body != nil && s.offset(f.Pos()) <= from && from+len(strings.TrimRight(e.old, "\n")) <= s.offset(f.End()) {
			return f
		}
	}
	return nil
}

// plant adds a copy of the function, with the edits. The function calls the copy if the bug is chosen.
func (s *source) plant(f *ast.FuncDecl, edits []edit, bug string) error {
	text := s.text[s.offset(f.Pos()):s.offset(f.End())] + "\n"
	for _, e := range edits {
		var err error
		if text, err = e.apply(text); err != nil {
			return err
		}
	}
	at := s.offset(f.Name.End()) - s.offset(f.Pos())
	s.copies.WriteString("\n" + text[:at] + "__" + bug + text[at:] + "\n")

	if s.named[f] == nil {
		s.named[f] = s.name(f)
	}
	names := s.named[f]
	call := fmt.Sprintf("%s__%s(%s)", f.Name.Name, bug, strings.Join(names[1:], ", "))
	if names[0] != "" {
		call = names[0] + "." + call
	}
	if f.Type.Results == nil {
		call += "; return"
	} else {
		call = "return " + call
	}
	s.inserts = append(s.inserts, insert{s.offset(f.Body.Lbrace) + 1, 0, fmt.Sprintf(" if chosen__.Is(%q) { %s };", bug, call)})
	return nil
}

// name names all unnamed parameters, and returns all names. The first name is the receiver's, or "" without a receiver.
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

// changed returns the text of the file with all changes.
func (s *source) changed() string {
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

func (b *build) write() (overlay string, err error) {
	files := map[string]string{"scripts/scripts.go": scriptsSource, chosenFile: chosenSource}
	for file, s := range b.sources {
		files[file] = s.changed()
	}
	replaced := make(map[string]string)
	for file, text := range files {
		from, err := filepath.Abs(filepath.Join(b.root, file))
		if err != nil {
			return "", err
		}
		to, err := filepath.Abs(filepath.Join(b.scratch, strings.ReplaceAll(file, "/", "_")))
		if err != nil {
			return "", err
		}
		replaced[from] = to
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(b.scratch, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

const (
	chosenFile    = "internal/chaos/planted/chosen/chosen.go"
	chosenPackage = "github.com/redlock-go/redlock/internal/chaos/planted/chosen"
)

const chosenSource = `package chosen

import (
	"os"
	"path/filepath"
)

var chosen = filepath.Base(os.Getenv("` + chosenVariable + `"))

// Is reports whether the bug with this name is chosen.
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
	if changed, err := os.ReadFile(filepath.Join(os.Getenv("` + chosenVariable + `"), name)); err == nil {
		return changed, nil
	}
	return embedded.ReadFile(name)
}
`
