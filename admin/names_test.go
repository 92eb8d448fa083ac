package admin_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
)

func TestNames(t *testing.T) {
	onBoth(t, 3, func(t *testing.T, d *harness.Deployment) {
		c, other := d.Reached(), d.Client(redlock.WithPrefix("red[lo]ck*"))
		harness.Must(t, admin.Init(background, other, 0))
		var held []string
		for i := range 7 {
			name := fmt.Sprintf("job {%d}:lock:*", i)
			held = append(held, name)
			harness.MustTry(t, c, name)
		}
		harness.Settled(t, c)
		list, err := admin.Names(background, c, 100)
		harness.Must(t, err)
		if !slices.Equal(list.Names, held) || list.More || list.Master != d.Address(0) {
			t.Errorf("%+v, want %q", list, held)
		}
		if list, err = admin.Names(background, c, 3); err != nil || len(list.Names) != 3 || !list.More {
			t.Errorf("%+v, %v", list, err)
		}
		harness.MustTry(t, other, "mine")
		harness.Settled(t, other)
		if list, err = admin.Names(background, other, 100); err != nil || !slices.Equal(list.Names, []string{"mine"}) {
			t.Errorf("of another prefix: %+v, %v", list, err)
		}
		d.Masters[0].Die()
		if list, err = admin.Names(background, c, 100); err != nil || len(list.Names) != 7 || list.Master != d.Address(1) {
			t.Errorf("%+v, %v", list, err)
		}
		for i := range 2 {
			d.Masters[i+1].Die()
		}
		harness.RequireErr(t, harness.ErrOf(admin.Names(background, c, 100)), redlock.ErrNoQuorum)
		harness.RequireOptionError(t, harness.ErrOf(admin.Names(background, c, 0)), "most")
	})
}
