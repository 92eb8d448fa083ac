package scripts_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// For any operations, embedded masters reply, publish and store the same as Redis.
func TestScriptsMatchRedis(t *testing.T) {
	t.Parallel()
	both := []*server{startEmbedded(t), newServer(t, startRedis(t, ""), nil)}
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(anyLine), 1, 25).Draw(t, "lines")
		input := strings.Join(lines, "\n")
		for try := 0; ; try++ { // try twice, because too much time may pass between two lines on a slow machine
			fake, real := both[0].run(input), both[1].run(input)
			if fake == real {
				return
			}
			if try == 1 {
				t.Fatalf("%s\nembedded:\n%s\nredis:\n%s", input, fake, real)
			}
		}
	})
}

func anyLine(t *rapid.T) string {
	one := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }
	verb := one("verb", "acquire", "share", "reenter", "confirm", "know", "extend", "stay", "release", "pass", "undo", "linger", "repair", "restore",
		"verify", "leave", "forget lock", "fence none", "dead")
	switch verb {
	case "forget lock", "fence none":
		return verb
	case "dead":
		return strings.Join([]string{verb, one("many", "1", "63", "64", "65", "192"), one("kind", "write", "read"), one("ago", "1s", "2m")}, " ")
	case "verify":
		return "verify " + one("token", "7", "8", "9", "12")
	case "leave":
		return "leave " + one("channel", "a", "b", "x", "{next}")
	}
	line := []string{verb, one("owner", "o", "p"), "ttl=" + one("ttl", "10s", "30s", "60s"), "token=" + one("token", "7", "8", "12"),
		"grant=" + one("grant", "0", "7", "8", "9"), "seen=" + one("seen", "0", "7", "8", "12", "-1"), "mark=" + one("mark", "0s", "60s")}
	if verb == "pass" || one("waits", "yes", "no") == "yes" {
		line = append(line, "in="+one("channel", "a", "b", "x"), "ticket="+one("ticket", "-5", "5"), "takes="+one("takes", "0s", "20s"))
	}
	return strings.Join(append(line, one("reads", "reads", "")), " ")
}

// A master looks once in LookEvery by its own clock, and at once if this clock was set back.
func TestLookInterval(t *testing.T) {
	for _, durable := range []string{"no", "yes"} {
		harness.RunInVirtualTime(t, "durable: "+durable, 1, func(t *testing.T, d *harness.Deployment) {
			r, fake := d.Raw[0], d.Masters[0].(harness.EmbeddedMaster)
			register := script.RegisterKey(limits.DefaultPrefix)
			harness.Must(t, memberOfOne(r))
			harness.Must(t, r.HSet(context.Background(), register, "durable", durable).Err())
			begin := time.Now().Truncate(time.Millisecond)
			for _, x := range []struct{ after, clock, looked time.Duration }{
				{0, 0, 0},
				{script.LookEvery - time.Millisecond, 0, 0},
				{time.Millisecond, 0, script.LookEvery},
				{script.LookEvery - time.Millisecond, 0, script.LookEvery},
				{time.Hour, 0, time.Hour + 2*script.LookEvery - time.Millisecond},
				{0, -time.Hour, 2*script.LookEvery - time.Millisecond},
				{0, -time.Hour - time.Millisecond, 2*script.LookEvery - 2*time.Millisecond},
				{0, -time.Hour, 2*script.LookEvery - 2*time.Millisecond},
				{0, 0, time.Hour + 2*script.LookEvery - time.Millisecond},
			} {
				time.Sleep(x.after)
				fake.SetClock(x.clock)
				harness.Must(t, harness.ErrOf(harness.CallIn(r, script.Verify.Call(&script.Keys{Lock: register}, uint64(100)))))
				ms, err := r.HGet(context.Background(), register, "looked").Int64()
				harness.Must(t, err)
				if looked := time.UnixMilli(ms).Sub(begin); looked != x.looked {
					t.Errorf("durable: %s: %v later, with a clock that is wrong by %v, it last looked at %v, want %v", durable, x.after, x.clock, looked, x.looked)
				}
			}
		})
	}
}
