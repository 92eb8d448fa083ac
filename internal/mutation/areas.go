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
	{"decisions", append(in("internal/quorum", "quorum", "terms", "token"), "internal/ask/failure.go", "quorum.go", "clock.go", "fencing.go"),
		append(append(all("internal/quorum"), all("internal/ask")...), join(root("force", "errors", "options", "linger", "inside"), of("internal/faulttest", "late"))...)},
	{"lease", in("internal/lease", "lease", "master"), append(all("internal/lease"), join(root("lock"), of("internal/faulttest", "late", "oneaway"))...)},
	{"hold", append(in("internal/lease", "hold", "holds", "watchdog", "reentry", "entry", "context", "suspend", "ctxrenewal"), "internal/acquire/reenter.go"), append(all("internal/lease"), join(root("force", "lock", "locks", "readers", "inside"), of("admin", "hungmember", "changes", "recovery"), of("scripts", "refusals"), of("internal/acquire", "attempt", "set"), of("internal/faulttest", "late", "oneaway", "sets", "readers", "panics"))...)},
	{"sets", []string{"internal/acquire/set.go", "internal/acquire/slots.go", "internal/lease/set.go", "lockall.go", "locks.go", "slots.go"}, join(root("locks", "slots", "linger"), all("internal/acquire"), all("internal/lease"), of("scripts", "joint"), of("internal/faulttest", "sets", "panics"))},
	{"readers", append(in("internal/lease", "downgrade", "linger"), "readers.go", "linger.go", "internal/acquire/takeover.go"), append(all("internal/lease"), join(root("readers", "linger", "force"), all("internal/acquire"), of("internal/faulttest", "readers", "late"))...)},
	{"attempt", in("internal/acquire", "attempt", "client", "options"), append(all("internal/acquire"), join(root("lock", "force"), of("internal/faulttest", "faults", "late", "panics"), of("admin", "changes"))...)},
	{"leader", []string{"leader/*.go"}, all("leader")},
	{"admin", []string{"admin/*.go", "internal/identity/*.go"}, append(all("admin"), judge{"internal/identity", nil}, judge{"cmd/redlock", []string{"init", "members", "status"}})},
	{"members", []string{"internal/ask/members.go", "members.go"}, join(root("force", "waiting"), all("internal/ask"), of("internal/acquire", "waiting"), of("admin", "changes", "recovery"))},
	{"trace", []string{"trace.go"}, join(root("observer", "lock", "inside"), of("internal/faulttest", "late"))},
	{"rounds", []string{"internal/quorum/round.go", "internal/lease/release.go", "internal/ask/ask.go"}, append(append(all("internal/quorum"), all("internal/lease")...), join(root("linger", "lock", "locks", "errors", "readers"), all("internal/acquire"), of("admin", "recovery"), of("internal/master", "servers"), of("internal/faulttest", "late", "sets"))...)},
	{"waiting", in("internal/acquire", "waiting", "pauses", "queues", "waitlimit", "needssetup", "notices", "offers"), join(root("waiting", "errors", "force", "locks", "readers", "slots"), all("internal/acquire"), of("admin", "setup"), of("internal/faulttest", "acl", "overlap"))},
	{"queues", []string{"internal/waitqueue/*.go"}, append(all("internal/waitqueue"), join(root("waiting"), of("internal/acquire", "waiting"))...)},
	{"table", in("internal/membership", "table", "version", "next", "server", "view"), all("internal/membership")},
	{"changes", in("internal/membership", "propose", "changes", "newmember", "report", "group", "work"),
		append(all("internal/membership"), join(root(), of("admin", "changes", "founding", "recovery", "hungmember"), of("scripts", "joint"), of("internal/faulttest", "acl"))...)},
	{"places", append(in("internal/membership", "place", "outage"), "scripts/reached.lua"), append(all("internal/membership"), join(of("admin", "names_recovery", "outage"), of("scripts", "reached"))...)},
	{"founding", in("internal/membership", "init", "rights", "describe"),
		append(append(all("internal/membership"), join(root(), of("internal/faulttest", "acl"))...), judge{folder: "admin"}, judge{"cmd/redlock", []string{"init", "members"}})},
	{"batch", []string{"internal/master/*.go"}, append(all("internal/master"), join(root("lock"), of("internal/acquire", "waiting"))...)},
	{"scripts", []string{"internal/script/*.go"}, all("internal/script")},
	{"lua", lua("acquire", "batch", "confirm", "counter", "enter", "extend", "grant", "header", "inspect", "joint", "know", "leave", "linger", "lock", "lost",
		"queue", "raise", "readers", "release", "repair", "rest", "restore", "run", "share", "stay", "unlock", "value", "verify"),
		join(root("linger", "locks", "lock", "readers", "force"), of("internal/acquire", "attempt", "set"), of("admin", "identity"), of("scripts", "lines", "scripts", "batch", "counters", "deadwaiters", "joint", "offers", "refusals"), of("internal/faulttest", "late", "oneaway", "tokens"))},
	{"register", lua("accept", "adopt", "claim", "counters", "enroll", "found", "learn", "member", "promise", "rights", "sync"),
		join(root(), of("admin", "founding", "changes", "recovery"), of("scripts", "steps", "register", "scripts", "counters"), of("internal/faulttest", "acl"))},
	{"clock", []string{"internal/clock/*.go"}, all("internal/clock")},
	{"fence", []string{"fence/*.go"}, all("fence")},
}

// root are judges of the root package: the tests in these files, then the wider ones.
func root(files ...string) []judge {
	return []judge{{".", append(files, "behaviour")}}
}

// of are the tests in these files of another folder.
func of(folder string, files ...string) []judge { return []judge{{folder, files}} }

func join(judges ...[]judge) []judge { return slices.Concat(judges...) }

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
