package operator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
)

type named struct {
	cluster.Master
	name string
}

func (m named) Name() string { return m.name }
func (m named) Addr() string { return m.name }

// A member is written as "m0", as "m0=m3" (the server of m3 has the address of m0), or as "m0:new".
func TestRestoring(t *testing.T) {
	t.Parallel()
	o := &Operator{Founders: 3}
	for n := range 5 {
		o.Masters = append(o.Masters, named{name: fmt.Sprint("m", n)})
	}
	replace := func(old, by string) *admin.MemberChange {
		c := admin.ReplaceMember(old, by)
		return &c
	}
	add, resume, remove := admin.AddMember("m2"), admin.ResumeMember("m1"), admin.RemoveMember("m3")
	for _, c := range []struct {
		members string
		change  *admin.MemberChange
		wrong   bool
	}{
		{"m0 m1 m2", nil, false},
		{"m0 m1 m2:new", nil, true},
		{"m0 m1", &add, true},
		{"m0 m1:suspended m2", &resume, true},
		{"m0 m1 m3", replace("m3", "m2"), true},
		{"m0 m1 m2 m3", &remove, true},
		{"m0=m3 m1 m2", replace("m0", "m0"), true},
		{"m0 m1 m3=m2", replace("m3", "m3"), true},
		{"m0=m3 m1 m2:new", nil, true},
		{"m0=m3 m1", &add, true},
	} {
		var is admin.Membership
		for word := range strings.FieldsSeq(c.members) {
			m := admin.Member{State: admin.MemberVoting}
			if address, state, has := strings.Cut(word, ":"); has {
				word, m.State = address, admin.MemberState(state)
			}
			m.Address, m.Master, _ = strings.Cut(word, "=")
			if m.Master == "" {
				m.Master = m.Address
			}
			is.Members = append(is.Members, m)
		}
		change, err := o.restoring(is)
		if (err != nil) != c.wrong || (change == nil) != (c.change == nil) || change != nil && *change != *c.change {
			t.Errorf("%s: %+v, %v; want %+v", c.members, change, err, c.change)
		}
	}
}
