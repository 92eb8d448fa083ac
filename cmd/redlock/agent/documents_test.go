package agent

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
)

// If the masters that deny no right are a quorum, the error passes when they answer.
func TestDenied(t *testing.T) {
	t.Parallel()
	deny, down := redlock.Vote{Err: redlock.ErrDenied}, redlock.Vote{}
	for want, votes := range map[string][]redlock.Vote{"denied": {deny, deny, down}, "no-quorum": {deny, down, down}} {
		if got := problemOf(&redlock.QuorumError{Reason: redlock.ErrNoQuorum, Need: 2, Votes: votes}); got.Title != want {
			t.Errorf("%s instead of %s", got.Title, want)
		}
	}
}

// Each error of the library has its own problem type, and each type has a row in docs/AGENT.md.
func TestProblems(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../errors.go", nil, 0)
	harness.Must(t, err)
	sentinels := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, is := n.(*ast.ValueSpec); is && ast.IsExported(spec.Names[0].Name) {
			sentinels++
		}
		return true
	})
	own := 0
	words := map[string]bool{}
	for _, k := range kinds {
		if strings.HasPrefix(k.is.Error(), "redlock: ") {
			own++
		}
		if words[k.word] {
			t.Errorf("%s is there twice", k.word)
		}
		words[k.word] = true
	}
	if own != sentinels {
		t.Errorf("%d of the %d errors of the library have a type", own, sentinels)
	}
	page, err := os.ReadFile("../../../docs/AGENT.md")
	harness.Must(t, err)
	rows := regexp.MustCompile(`(?m)^\| <a id="([a-z-]+)"></a>`+"`([a-z-]+)`"+` \| (\d+) \| (yes|no) \| `).FindAllStringSubmatch(string(page), -1)
	if len(rows) != len(kinds)+1 {
		t.Errorf("%d types are in the page, want %d", len(rows), len(kinds)+1)
	}
	for _, row := range rows {
		i := slices.IndexFunc(append(kinds, internal), func(k kind) bool { return k.word == row[1] })
		if i < 0 {
			t.Errorf("the page has %s", row[1])
			continue
		}
		k := append(kinds, internal)[i]
		retryable := map[bool]string{true: "yes", false: "no"}[k.retryable]
		if row[2] != k.word || row[3] != strconv.Itoa(k.status) || row[4] != retryable {
			t.Errorf("the page has %q; want status %d, retryable %s", row[0], k.status, retryable)
		}
	}
}

// openapi.json has all calls and all fields of requests and responses.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	text, err := os.ReadFile("openapi.json")
	harness.Must(t, err)
	harness.Must(t, json.Unmarshal(text, &doc))
	client, err := redlock.Open([]string{"redis://127.0.0.1:1"})
	harness.Must(t, err)
	defer client.Close()
	a := New(client, Config{})
	var calls, got []string
	for pattern := range a.calls() {
		calls = append(calls, pattern)
	}
	calls = append(calls, "GET /v1/sessions/{session}/events", "GET /metrics")
	for path, methods := range doc.Paths {
		for method := range methods {
			got = append(got, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(calls)
	slices.Sort(got)
	if !slices.Equal(got, calls) {
		t.Errorf("it has the calls %q, want %q", got, calls)
	}
	for name, value := range map[string]any{
		"Want": want{}, "Lock": lockAnswer{}, "Release": releaseAnswer{}, "Session": sessionAnswer{}, "Event": event{}, "Inspection": inspection{}, "Problem": problem{},
	} {
		fields := fieldsOf(value)
		var has []string
		for property := range doc.Components.Schemas[name].Properties {
			has = append(has, property)
		}
		slices.Sort(has)
		if !slices.Equal(has, fields) {
			t.Errorf("%s has %q, want %q", name, has, fields)
		}
	}
}

// fieldsOf returns the names that the fields of a struct have in JSON.
func fieldsOf(value any) []string {
	var all []string
	for field := range reflect.TypeOf(value).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
