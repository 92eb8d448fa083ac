package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one change of the code.
type mutant struct {
	id       int
	position token.Position
	change   string // like "< to <="
}

// changes are what each operator becomes, one mutant each.
var changes = map[token.Token][]token.Token{
	token.LSS:  {token.LEQ, token.GEQ},
	token.LEQ:  {token.LSS, token.GTR},
	token.GTR:  {token.GEQ, token.LEQ},
	token.GEQ:  {token.GTR, token.LSS},
	token.EQL:  {token.NEQ},
	token.NEQ:  {token.EQL},
	token.LAND: {token.LOR},
	token.LOR:  {token.LAND},
	token.ADD:  {token.SUB},
	token.SUB:  {token.ADD},
	token.MUL:  {token.QUO},
	token.QUO:  {token.MUL},

	token.INC:        {token.DEC},
	token.DEC:        {token.INC},
	token.ADD_ASSIGN: {token.SUB_ASSIGN},
	token.SUB_ASSIGN: {token.ADD_ASSIGN},

	token.CONTINUE: {token.BREAK},
	token.BREAK:    {token.CONTINUE},
}

// rewriter writes a file anew, with its mutants in it. It goes by the text, so that all that is not
// changed stays as it was.
type rewriter struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	source  []byte
	next    func(at token.Pos, from, to token.Token) (id int, ok bool) // not ok: this one is left out
	mutable map[ast.Node]bool
}

// rewrite returns the file with all its mutants.
func (w *rewriter) rewrite(file *ast.File) []byte {
	w.mutable = w.find(file)
	var out bytes.Buffer
	start := w.offset(file.Name.End())
	out.Write(w.source[:start])
	fmt.Fprintf(&out, "; import mutant__ %q", mutantPackage)
	w.children(&out, file, start, len(w.source))
	out.WriteString("\n\nvar _ = mutant__.On\n")
	return out.Bytes()
}

// find returns the nodes that can be changed.
func (w *rewriter) find(file *ast.File) map[ast.Node]bool {
	found := make(map[ast.Node]bool)
	statements := func(list []ast.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ast.IncDecStmt:
				found[s] = true
			case *ast.AssignStmt:
				found[s] = changes[s.Tok] != nil && w.number(s.Lhs[0])
			}
		}
	}
	var around []ast.Node              // the loops, switches and selects, from the outermost
	endless := make(map[ast.Node]bool) // loops that end a function with results, which must not end
	function := func(results *ast.FieldList, body *ast.BlockStmt) {
		if body == nil || results == nil || len(body.List) == 0 {
			return
		}
		if loop, ok := body.List[len(body.List)-1].(*ast.ForStmt); ok && loop.Cond == nil {
			endless[loop] = true
		}
	}
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			statements(n.List)
		case *ast.CaseClause:
			statements(n.Body)
		case *ast.CommClause:
			statements(n.Body)
		case *ast.BinaryExpr:
			found[n] = changes[n.Op] != nil && w.info.Types[n].Value == nil && (!arithmetic(n.Op) || w.number(n))
		case *ast.BranchStmt:
			found[n] = isChangeable(n, around, endless)
		case *ast.FuncDecl:
			function(n.Type.Results, n.Body)
		case *ast.FuncLit:
			function(n.Type.Results, n.Body)
			outside := around
			around = nil
			ast.Inspect(n.Body, visit)
			around = outside
			return false
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			around = append(around, n)
			for _, child := range childrenOf(n) {
				ast.Inspect(child, visit)
			}
			around = around[:len(around)-1]
			return false
		}
		return true
	}
	ast.Inspect(file, visit)
	return found
}

// isChangeable tells whether a break or continue can become the other one: it is one of a loop, and
// that may be left.
func isChangeable(n *ast.BranchStmt, around []ast.Node, endless map[ast.Node]bool) bool {
	inner := len(around) - 1
	switch n.Tok {
	case token.BREAK:
		return n.Label == nil && isLoop(around[inner])
	case token.CONTINUE: // in a switch, a break without a label would leave only that
		return (n.Label != nil || isLoop(around[inner])) && !endless[around[inner]]
	}
	return false
}

func isLoop(n ast.Node) bool {
	switch n.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		return true
	}
	return false
}

func arithmetic(op token.Token) bool { return op <= token.REM }

func (w *rewriter) number(e ast.Expr) bool {
	t := w.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

// children writes the text from one offset to another, which is that of n, with the nodes in it
// rewritten.
func (w *rewriter) children(out *bytes.Buffer, n ast.Node, from, to int) {
	for _, child := range childrenOf(n) {
		start, end := w.offset(child.Pos()), w.offset(child.End())
		if start < from { // the name of the package, which is written
			continue
		}
		out.Write(w.source[from:start])
		w.node(out, child)
		from = end
	}
	out.Write(w.source[from:to])
}

func (w *rewriter) node(out *bytes.Buffer, n ast.Node) {
	if w.mutable[n] {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			w.binary(out, n)
			return
		case *ast.BranchStmt:
			w.branch(out, n)
			return
		case *ast.IncDecStmt:
			w.statement(out, n, n.TokPos, n.Tok)
			return
		case *ast.AssignStmt:
			w.statement(out, n, n.TokPos, n.Tok)
			return
		}
	}
	w.children(out, n, w.offset(n.Pos()), w.offset(n.End()))
}

// binary writes a call of mutant__.Of with `x op y` and what it becomes, each in a function.
func (w *rewriter) binary(out *bytes.Buffer, n *ast.BinaryExpr) {
	var x, y bytes.Buffer
	w.node(&x, n.X)
	w.node(&y, n.Y)
	kind := "bool"
	if arithmetic(n.Op) {
		kind = types.TypeString(w.info.TypeOf(n), w.qualify)
	}
	text := fmt.Sprintf("%s %s %s", &x, n.Op, &y)
	for _, to := range changes[n.Op] {
		if id, ok := w.next(n.OpPos, n.Op, to); ok {
			text = fmt.Sprintf("mutant__.Of(%d, func() %s { return %s }, func() %s { return %s %s %s })", id, kind, text, kind, &x, to, &y)
		}
	}
	out.WriteString(text)
}

// qualify names a type of another package, as go/types asks for.
func (w *rewriter) qualify(p *types.Package) string {
	if p == w.pkg {
		return ""
	}
	return p.Name()
}

// branch writes `if mutant__.On(ID) { break }; continue`.
func (w *rewriter) branch(out *bytes.Buffer, n *ast.BranchStmt) {
	label := ""
	if n.Label != nil {
		label = " " + n.Label.Name
	}
	for _, to := range changes[n.Tok] {
		if id, ok := w.next(n.TokPos, n.Tok, to); ok {
			fmt.Fprintf(out, "if mutant__.On(%d) { %s%s }; ", id, to, label)
		}
	}
	fmt.Fprintf(out, "%s%s", n.Tok, label)
}

// statement writes `if mutant__.On(ID) { x-- } else { x++ }`.
func (w *rewriter) statement(out *bytes.Buffer, n ast.Node, at token.Pos, op token.Token) {
	var text bytes.Buffer
	from, until := w.offset(n.Pos()), w.offset(n.End())
	w.children(&text, n, from, until)
	for _, to := range changes[op] {
		if id, ok := w.next(at, op, to); ok {
			tok := w.offset(at)
			changed := string(w.source[from:tok]) + to.String() + string(w.source[tok+len(op.String()):until])
			fmt.Fprintf(out, "if mutant__.On(%d) { %s } else ", id, changed)
		}
	}
	fmt.Fprintf(out, "{ %s }", &text)
}

func (w *rewriter) offset(p token.Pos) int { return w.fset.Position(p).Offset }

// childrenOf returns the nodes right below n, in the order of the text.
func childrenOf(n ast.Node) (children []ast.Node) {
	ast.Inspect(n, func(child ast.Node) bool {
		if child == n {
			return true
		}
		if child != nil {
			children = append(children, child)
		}
		return false
	})
	slices.SortFunc(children, func(a, b ast.Node) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return slices.DeleteFunc(children, func(n ast.Node) bool {
		_, comment := n.(*ast.CommentGroup)
		return comment
	})
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s", m.position.Filename, m.position.Line, m.change)
}

// text returns a line of a file without the space around it.
func text(source []byte, line int) string {
	return strings.TrimSpace(strings.Split(string(source), "\n")[line-1])
}
