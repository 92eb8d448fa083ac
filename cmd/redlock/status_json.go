package main

import (
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/redlock-go/redlock/admin"
)

// The object that redlock status --json prints. Its fields are documented in the help; scripts rely on their names.
type (
	statusJSON struct {
		Time    string          `json:"time"`
		Members *membershipJSON `json:"members"`
		Error   string          `json:"error"`
		Locks   []lockJSON      `json:"locks"`
		Names   *namesJSON      `json:"names"`
	}
	namesJSON struct {
		Master string   `json:"master"`
		Names  []string `json:"names"`
		More   bool     `json:"more"`
		Error  string   `json:"error"`
	}
	lockJSON struct {
		Name  string `json:"name"`
		Error string `json:"error"`
		Need  int    `json:"need"`
		lockViewJSON
		Masters []masterViewJSON `json:"masters"`
	}
	masterViewJSON struct {
		Master string `json:"master"`
		Error  string `json:"error"`
		Grant  string `json:"grant"`
		lockViewJSON
	}
	lockViewJSON struct {
		State           string       `json:"state"`
		Owner           string       `json:"owner"`
		Since           string       `json:"since"`
		Holder          holderJSON   `json:"holder"`
		Token           string       `json:"token"`
		RemainingMillis int64        `json:"remainingMillis"`
		Waiting         int          `json:"waiting"`
		Readers         []readerJSON `json:"readers"`
	}
	holderJSON struct {
		Client string `json:"client"`
		Name   string `json:"name"`
		Host   string `json:"host"`
		PID    int    `json:"pid"`
	}
	readerJSON struct {
		Owner           string     `json:"owner"`
		Since           string     `json:"since"`
		Holder          holderJSON `json:"holder"`
		RemainingMillis int64      `json:"remainingMillis"`
	}
)

func jsonOfStatus(s status) statusJSON {
	out := statusJSON{Time: s.at.Format(time.RFC3339), Error: textOf(s.membersErr), Locks: []lockJSON{}}
	if s.membersErr == nil {
		out.Members = new(jsonOf(s.members))
	}
	for _, l := range s.locks {
		out.Locks = append(out.Locks, jsonOfLock(l))
	}
	if s.listed {
		out.Names = &namesJSON{s.names.Master, append([]string{}, s.names.Names...), s.names.More, textOf(s.namesErr)}
	}
	return out
}

func jsonOfLock(l lockStatus) lockJSON {
	out := lockJSON{Name: l.in.Name, Error: textOf(l.err), Need: l.in.Need, lockViewJSON: jsonOfView(l.in.Quorum), Masters: []masterViewJSON{}}
	for _, m := range l.in.Masters {
		out.Masters = append(out.Masters, masterViewJSON{m.Master, textOf(m.Err), tokenText(m.Grant), jsonOfView(m.LockView)})
	}
	return out
}

// sinceText returns the time at which a lock was requested, or "" if it is not known.
func sinceText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339)
}

func jsonOfView(v admin.LockView) lockViewJSON {
	if v.State == "" { // the master did not answer
		v.State = admin.LockUnknown
	}
	out := lockViewJSON{string(v.State), v.Owner, sinceText(v.Since()), holderJSON(v.Holder), tokenText(uint64(v.Token)), v.Remaining.Milliseconds(), v.Waiting, []readerJSON{}}
	for _, r := range v.Readers {
		out.Readers = append(out.Readers, readerJSON{r.Owner, sinceText(r.Since()), holderJSON(r.Holder), r.Remaining.Milliseconds()})
	}
	return out
}

// tokenText returns a token in decimal, or "" for no token. In JSON it is a string, because many parsers do
// not keep all digits of a number.
func tokenText(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// printJSON prints an object for scripts.
func printJSON(w io.Writer, object any) {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(object) // stdout keeps the error
}
