package main

import (
	"fmt"
	"slices"
)

// area is what is changed, and the tests that judge it.
type area struct {
	name   string
	files  []string // patterns, from the root of the module
	judges []judge
}

// judge is a package and those of its tests that judge: all, or those in some files.
type judge struct {
	folder string
	files  []string // without _test.go
}

var areas = []area{
	{"decisions", append(in("internal/quorum", "quorum", "terms", "token"), "quorum.go", "clock.go", "fencing.go"),
		append(all("internal/quorum"), root("fencing", "errors", "options", "hold", "late", "linger")...)},
	{"lease", in("internal/lease", "lease", "master"), append(all("internal/lease"), root("hold", "late", "oneaway", "reentry")...)},
	{"hold", append(in("internal/lease", "hold", "holds", "watchdog", "reentry", "entry", "context", "suspend", "ctxrenewal"), "reentry.go"), append(all("internal/lease"), root("hold", "late", "hungmember", "maxttl", "oneaway", "fencing", "reentry", "refusals", "lock", "locks", "locks_fault", "members", "readers_faults", "recovery", "ctxrenewal", "panics")...)},
	{"sets", []string{"lockall.go", "locks.go", "slots.go"}, root("locks", "locks_fault", "joint", "slots", "panics", "linger")},
	{"readers", append(in("internal/lease", "downgrade", "linger"), "readers.go", "linger.go", "force.go"), root("readers", "readers_faults", "linger", "force", "handover", "late")},
	{"leader", []string{"leader/*.go"}, all("leader")},
	{"admin", []string{"admin/*.go", "internal/identity/*.go"}, append(all("admin"), judge{"internal/identity", nil}, judge{"cmd/redlock", []string{"init", "members", "status"}})},
	{"members", []string{"members.go"}, root("members", "force", "recovery", "waiting")},
	{"telling", []string{"telling.go"}, root("observer", "hold", "late", "ctxrenewal")},
	{"rounds", []string{"internal/quorum/round.go", "internal/lease/release.go", "release.go", "await.go"}, append(append(all("internal/quorum"), all("internal/lease")...), root("handover", "hold", "late", "linger", "lock", "locks", "locks_fault", "maxttl", "errors", "reach", "readers", "recovery", "replies")...)},
	{"waiting", []string{"waiting.go", "pauses.go", "queues.go", "waitlimit.go", "setup.go"}, root("waiting", "handover", "errors", "setup", "force", "acl", "locks", "overlap", "readers", "slots")},
	{"queues", []string{"internal/waitqueue/*.go"}, append(all("internal/waitqueue"), root("waiting")...)},
	{"table", in("internal/membership", "table", "version", "next", "server", "view"), all("internal/membership")},
	{"changes", in("internal/membership", "propose", "changes", "newmember", "report", "group", "work"),
		append(all("internal/membership"), root("members", "init", "recovery", "hungmember", "joint", "acl")...)},
	{"founding", in("internal/membership", "init", "rights", "describe"),
		append(append(all("internal/membership"), root("members", "init", "recovery", "acl")...), judge{folder: "admin"}, judge{"cmd/redlock", []string{"init", "members"}})},
	{"batch", []string{"internal/master/*.go"}, append(all("internal/master"), root("connections", "departures", "lock", "reach")...)},
	{"scripts", []string{"internal/script/*.go"}, all("internal/script")},
	{"lua", lua("acquire", "batch", "confirm", "counter", "enter", "extend", "grant", "header", "inspect", "joint", "know", "leave", "linger", "lock", "lost",
		"queue", "raise", "readers", "release", "repair", "restore", "run", "share", "stay", "unlock", "value", "verify"),
		root("lines", "scripts", "batch", "counters", "deadwaiters", "joint", "late", "linger", "locks", "lock", "readers", "force", "handover", "oneaway", "reentry", "tokens", "identity", "refusals")},
	{"register", lua("accept", "adopt", "claim", "counters", "enroll", "found", "learn", "member", "promise", "rights", "sync"),
		root("steps", "register", "scripts", "counters", "init", "members", "recovery", "acl")},
	{"clock", []string{"internal/clock/*.go"}, all("internal/clock")},
	{"fence", []string{"fence/*.go"}, all("fence")},
}

// root are judges of the root package: the tests in these files, then the wider ones.
func root(files ...string) []judge {
	return []judge{{".", append(files, "behaviour")}}
}

func all(folder string) []judge { return []judge{{folder: folder}} }

func in(folder string, names ...string) (files []string) {
	for _, name := range names {
		files = append(files, folder+"/"+name+".go")
	}
	return files
}

func lua(names ...string) (files []string) {
	for _, name := range names {
		files = append(files, "scripts/"+name+".lua")
	}
	return files
}

func names(areas []area) (names []string) {
	for _, a := range areas {
		names = append(names, a.name)
	}
	return names
}

// choose returns the areas with these names, or all if there is no name.
func choose(areas []area, wanted []string) ([]area, error) {
	if len(wanted) == 0 {
		return areas, nil
	}
	var chosen []area
	for _, name := range wanted {
		i := slices.IndexFunc(areas, func(a area) bool { return a.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no area %q", name)
		}
		chosen = append(chosen, areas[i])
	}
	return chosen, nil
}
