package documents

import (
	"reflect"
	"testing"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	d := Document{"page.md", "Say `go doc\nx`.\n\n" +
		"    cd bench && go run . -a 'b c'    # a comment\n" +
		"    X=1 go test \"a|b\" | less\n\n" +
		"| `run 'a\\|b'` | `it's` |\n\n" +
		"```go\nno(`command`)\n```\n" +
		"```\nprose\n  redlock init\n```\n"}
	want := []Command{
		{"page.md:4", []string{"cd", "bench"}, "bench", true},
		{"page.md:4", []string{"go", "run", ".", "-a", "b c"}, "bench", true},
		{"page.md:5", []string{"go", "test", "a|b"}, ".", true},
		{"page.md:5", []string{"less"}, ".", true},
		{"page.md:14", []string{"redlock", "init"}, ".", true},
		{"page.md:1", []string{"go", "doc", "x"}, ".", false},
		{"page.md:7", []string{"run", "a|b"}, ".", false},
	}
	if got := d.Commands(); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
}
