package script

import (
	"regexp"
	"strconv"
)

// Stored is the parsed value of a lock key; scripts/lock.lua has its forms.
type Stored struct {
	Owner   string
	Grant   int64
	Token   int64  // 0: not confirmed; then Grant counts
	Lingers bool   // the owner released it, and the name stays taken
	KeptFor string // nobody owns the lock, and it is kept for the waiter on this channel
	Other   bool   // another program wrote it
}

var (
	storedOwned = regexp.MustCompile(`^(\S+) (\d+) (\d*)\+?$`)
	storedLeft  = regexp.MustCompile(`^- (\S+) (\d+) (\d*)$`)
	storedKept  = regexp.MustCompile(`^ (.+)$`)
)

// ParseStored parses the value of a lock key; "" means that there is no key.
func ParseStored(value string) Stored {
	if m := storedKept.FindStringSubmatch(value); m != nil {
		return Stored{KeptFor: m[1]}
	}
	m := storedOwned.FindStringSubmatch(value)
	left := m == nil
	if left {
		m = storedLeft.FindStringSubmatch(value)
	}
	if m == nil {
		return Stored{Other: value != ""}
	}
	s := Stored{Owner: m[1], Lingers: left}
	var errs [2]error
	s.Grant, errs[0] = strconv.ParseInt(m[2], 10, 64)
	if m[3] != "" {
		s.Token, errs[1] = strconv.ParseInt(m[3], 10, 64)
	}
	if errs != [2]error{} {
		return Stored{Other: true}
	}
	return s
}
