package scripts_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// What a member remembers of the names under which clients reach members.
func TestNamesAreNoted(t *testing.T) {
	t.Parallel()
	ctx, register := context.Background(), script.RegisterKey(limits.DefaultPrefix)
	for kind, r := range bothKinds(t) {
		for _, x := range []struct {
			claim  string
			fields string   // "field value" more of the register, or "-field" less
			calls  []string // arguments
			want   string   // the fields that have names
			code   string   // of the last call's error
		}{
			{"one name", "", []string{"one one x:1"}, "names:one=x:1", ""},
			{"the newest is first", "", []string{"one one x:1", "one one y:1 one z:1"}, "names:one=z:1,y:1,x:1", ""},
			{"a name is there once", "", []string{"one one x:1 one y:1", "one one x:1", "one one y:1 one x:1"}, "names:one=y:1,x:1", ""},
			{"the newest four stay", "", []string{"one one a one b one c", "one one d one e"}, "names:one=e,d,c,b", ""},
			{"none of a member that the table does not list", "", []string{"one two x:1"}, "", ""},
			{"and such names are dropped", "names:two x:1", []string{"one one y:1"}, "names:one=y:1", ""},
			{"another's data takes none", "", []string{"two one x:1"}, "", "NOTMEMBER"},
			{"a server that restarted, and may have lost data, takes none", "run before", []string{"one one x:1"}, "", "NOTMEMBER"},
			{"nor one without a table", "-table", []string{"one one x:1"}, "", "NOTMEMBER"},
		} {
			harness.Must(t, r.FlushAll(ctx).Err())
			harness.Must(t, memberOfOne(r))
			if field, is := strings.CutPrefix(x.fields, "-"); is {
				harness.Must(t, r.HDel(ctx, register, field).Err())
			} else if x.fields != "" {
				harness.Must(t, r.HSet(ctx, register, strings.Fields(x.fields)).Err())
			}
			code := ""
			for _, call := range x.calls {
				var args []any
				for arg := range strings.FieldsSeq(call) {
					args = append(args, arg)
				}
				code = ""
				if err := r.Eval(ctx, script.ReachedSource, []string{register}, args...).Err(); err != nil {
					code, _, _ = strings.Cut(err.Error(), " ")
				}
			}
			var got []string
			for field, value := range r.HGetAll(ctx, register).Val() {
				if strings.HasPrefix(field, "names:") {
					got = append(got, fmt.Sprintf("%s=%s", field, strings.ReplaceAll(value, "\n", ",")))
				}
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != x.want || code != x.code {
				t.Errorf("%s: %s: %q, error %q; want %q, %q", x.claim, kind, text, code, x.want, x.code)
			}
		}
	}
}
