package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
)

// foundLock returns a held lock, as a master or the quorum reports it.
func foundLock(owner string, waiting int) admin.LockView {
	return admin.LockView{
		State: admin.LockHeld, Owner: owner, Holder: admin.Holder{Client: "c", Name: "payroll", Host: "db1", PID: 4711},
		Grant: 12, Token: 12, Remaining: 24310 * time.Millisecond, Waiting: waiting,
	}
}

func TestStatusText(t *testing.T) {
	t.Parallel()
	held := foundLock("c.1", 3)
	free := admin.LockView{State: admin.LockFree}
	same := admin.Inspection{Name: "nightly", Need: 2, Quorum: held, Masters: []admin.MasterView{
		{Master: "10.0.0.1:6379", LockView: held}, {Master: "10.0.0.2:6379", LockView: held}, {Master: "10.0.0.3:6379", LockView: held},
	}}
	other := same
	other.Masters = []admin.MasterView{same.Masters[0], same.Masters[1], {Master: "10.0.0.3:6379", LockView: free}}
	unknown := admin.Inspection{Name: "two\nlines", Quorum: admin.LockView{State: admin.LockUnknown}, Masters: []admin.MasterView{
		{Master: "10.0.0.1:6379", Err: errors.New("dial: refused"), LockView: admin.LockView{State: admin.LockUnknown}},
	}}
	read := admin.Inspection{Name: "read", Quorum: admin.LockView{State: admin.LockRead, Remaining: time.Second, Readers: []admin.ReaderView{
		{Owner: "c.2", Holder: held.Holder, Remaining: time.Second},
	}}}
	lingers := admin.Inspection{Name: "lingers", Quorum: held}
	lingers.Quorum.State, lingers.Quorum.Waiting, lingers.Quorum.Token = admin.LockLingers, 0, 0
	const block = `  holder   payroll, process 4711 on db1
  owner    c.1
  token    12
  free in  24.3s, unless it is renewed
  waiting  3 clients
`
	for _, c := range []struct {
		lock lockStatus
		want string
	}{
		{lockStatus{in: same}, "\"nightly\": held\n" + block},
		{lockStatus{in: other}, "\"nightly\": held\n" + block +
			`  MASTER         STATE  FREE IN  WAITING  OWNER  GRANT  REMARKS
  10.0.0.1:6379  held   24.3s    3        c.1    12     
  10.0.0.2:6379  held   24.3s    3        c.1    12     
  10.0.0.3:6379  free   -        0        -      -      
`},
		{lockStatus{unknown, errors.New("redlock: no quorum of masters")}, `"two\nlines": not known, because too few masters answer
  MASTER         STATE    FREE IN  WAITING  OWNER  GRANT  REMARKS
  10.0.0.1:6379  unknown  -        0        -      -      dial: refused
`},
		{lockStatus{admin.Inspection{Name: "a"}, errors.New("redlock: no quorum of masters")}, `"a": not known, because too few masters answer
  error  no quorum of masters
`},
		{lockStatus{in: read}, `"read": held by 1 reader
  reader   payroll, process 4711 on db1, owner c.2, 1s left
  free in  1s, unless it is renewed
`},
		{lockStatus{in: lingers}, `"lingers": lingers: its holder left it, and it stays taken
  holder   payroll, process 4711 on db1
  owner    c.1
  token    not known
  free in  24.3s
`},
		{lockStatus{in: admin.Inspection{Name: "free", Quorum: free}}, "\"free\": free\n"},
	} {
		var out bytes.Buffer
		printLock(&out, c.lock, false)
		if out.String() != c.want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), c.want)
		}
	}
}

// Scripts rely on the names in the object: they do not change, and are there even for empty values.
func TestStatusJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(jsonOfStatus(status{
		at: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), membersErr: errors.New("redlock: two\nlines"),
		locks: []lockStatus{{in: admin.Inspection{Name: "a"}, err: errors.New("refused")}}, listed: true,
	}))
	harness.Must(t, err)
	const view = `"state":"unknown","owner":"","since":"","holder":{"client":"","name":"","host":"","pid":0},"token":"","remainingMillis":0,"waiting":0,"readers":[]`
	const want = `{"time":"2026-05-04T12:00:00Z","members":null,"error":"two; lines","locks":[{"name":"a","error":"refused","need":0,` + view +
		`,"masters":[]}],"names":{"master":"","names":[],"more":false,"error":""}}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	v := foundLock("c.1", 3)
	v.Readers = []admin.ReaderView{{Owner: "c.2", Remaining: time.Second}}
	text, err = json.Marshal(jsonOfLock(lockStatus{in: admin.Inspection{Name: "a", Need: 2, Quorum: v, Masters: []admin.MasterView{{Master: "m", LockView: v}}}}))
	harness.Must(t, err)
	requireText(t, "a lock", string(text), `"holder":{"client":"c","name":"payroll","host":"db1","pid":4711},"token":"12","remainingMillis":24310,"waiting":3`,
		`"readers":[{"owner":"c.2","since":"","holder":{"client":"","name":"","host":"","pid":0},"remainingMillis":1000}]`, `"masters":[{"master":"m","error":"","grant":"12","state":"held"`)
	if timeless := times.ReplaceAllString(string(text), ""); strings.Contains(timeless, "24310") || strings.Contains(timeless, "1000") {
		t.Errorf("times are left in %s", timeless)
	}
}

// Scripts rely on the names in the object: they do not change, and are there even for empty values.
func TestMembersJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(jsonOf(admin.Membership{
		Deployment: "d", Version: 7, MaxTTL: 2 * time.Second, Drift: 0.01, Need: 2, Unfinished: true,
		Members: []admin.Member{
			{ID: "i", Address: "a:1", State: admin.MemberNew, Master: "b:1", Left: 1500 * time.Millisecond, Names: []string{"n:1"}, Mend: "do"},
			{Address: "a:2", State: admin.MemberVoting, Err: errors.New("redlock: two\nlines")},
		},
		Others: []admin.OtherMaster{{Master: "c:1", State: "new"}},
	}))
	harness.Must(t, err)
	const want = `{"deployment":"d","version":7,"maxTtlMillis":2000,"drift":0.01,"need":2,"unfinished":true,` +
		`"members":[{"address":"a:1","state":"new","master":"b:1","id":"i","leftMillis":1500,"error":"","names":["n:1"],"mend":"do"},` +
		`{"address":"a:2","state":"voting","master":"","id":"","leftMillis":0,"error":"two; lines","names":[],"mend":""}],` +
		`"others":[{"master":"c:1","state":"new","error":""}]}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	empty, err := json.Marshal(jsonOf(admin.Membership{}))
	harness.Must(t, err)
	requireText(t, "an empty one", string(empty), `"members":[]`, `"others":[]`)
}
