// Package testrights reads from docs/PROTOCOL.md which rights users have on the masters, for tests
// that remove these rights one by one. Only tests may import it.
package testrights

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Rule returns the rights that docs/PROTOCOL.md gives a user. file is the path of that document.
func Rule(t *testing.T, file, user string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^    ACL SETUSER ` + user + ` reset on >PASSWORD (.*)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s has no rule for %s", file, user)
	}
	return strings.Fields(string(found[1]))
}

// Without returns the rule without one of its rights.
func Without(rule []string, right string) []string {
	return slices.DeleteFunc(slices.Clone(rule), func(other string) bool { return other == right })
}

// noChannels returns the rule without parts that Redis 6.0 does not support.
func noChannels(rule []string) []string {
	return slices.DeleteFunc(slices.Clone(rule), func(right string) bool { return right == "resetchannels" || right[0] == '&' })
}

// Of returns those rights of the rule that a test can remove one by one on a server that runs program.
func Of(rule []string, program string) []string {
	if strings.Contains(program, "redis-6.0") {
		return noChannels(rule)
	}
	return Without(rule, "resetchannels")
}

// Allow gives a user of a master the password pw and these rights, and no other rights.
func Allow(ctx context.Context, r *redis.Client, user string, rule []string) error {
	if strings.Contains(r.Info(ctx, "server").Val(), "redis_version:6.0.") {
		rule = noChannels(rule)
	}
	words := []any{"acl", "setuser", user, "reset", "on", ">pw"}
	for _, right := range rule {
		words = append(words, right)
	}
	return r.Do(ctx, words...).Err()
}

// NameOf returns the name that errors use for a right.
func NameOf(right string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(right, "+"), "|") // Redis 6 does not name the second word
	switch right[0] {
	case '~':
		return "key"
	case '&':
		return "channel"
	}
	return name
}
