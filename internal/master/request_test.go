package master

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

// policy makes a request obsolete, before or after its answer.
type policy struct{ before, after bool }

func (p policy) Obsolete(_ int, answered bool) bool {
	return p.before && !answered || p.after && answered
}
func (policy) Prepare(_ int, given script.Call, _ bool) script.Call { return given }

// A request is answered once. A request is kept to be sent again if it has Until, has not arrived, and is still
// needed.
func TestKeptRequests(t *testing.T) {
	t.Parallel()
	const now = clock.Instant(10)
	unknown, granted := script.Vote{Answer: script.Unknown}, script.Vote{Answer: script.Granted}
	for _, x := range []struct {
		claim   string
		until   clock.Instant
		policy  Policy
		answer  script.Vote
		closing bool
		want    bool
	}{
		{"it must arrive, and may not have", 20, nil, unknown, false, true},
		{"it must arrive, and was refused", 20, nil, script.Vote{Answer: script.Refused, Err: errCut}, false, true},
		{"the last moment", 10, nil, unknown, false, true},
		{"too late", 9, nil, unknown, false, false},
		{"it need not arrive", 0, nil, unknown, false, false},
		{"it has arrived", 20, nil, granted, false, false},
		{"it is not ours", 20, nil, script.Vote{Answer: script.Refused, Err: script.ErrNotMine}, false, false},
		{"it is of use", 20, policy{before: true}, unknown, false, true},
		{"it is of no use once it was answered", 20, policy{after: true}, unknown, false, false},
		{"the master is closing", 20, nil, unknown, true, false},
	} {
		at := now
		m := down(t, &at)
		m.closing = x.closing
		var answers script.Vote
		r := &Request{To: answerInto{&answers}, Until: x.until, Policy: x.policy}
		m.answer(r, x.answer)
		if !answers.Answered || answers.Answer != x.answer.Answer {
			t.Errorf("%s: the asker gets %+v", x.claim, answers)
		}
		if got := len(m.retries) == 1; got != x.want || (m.Pending() == 1) != x.want {
			t.Errorf("%s: it is kept: %v, want %v", x.claim, got, x.want)
		}
		answers = script.Vote{}
		m.answer(r, granted)
		if answers.Answered {
			t.Errorf("%s: the asker gets two answers", x.claim)
		}
	}
}

// If a server refuses the password, no command has an error of its own, and the pipeline's error is returned.
func TestPipelineErrors(t *testing.T) {
	t.Parallel()
	refusal, broken := error(replyError("NOAUTH")), errCut
	for _, x := range []struct {
		claim   string
		command error
		err     error
		want    error
	}{
		{"all is well", nil, nil, nil},
		{"a command was refused", refusal, refusal, nil},
		{"the connection was refused", nil, refusal, refusal},
		{"the connection broke", nil, broken, broken},
		{"the connection broke at a command", broken, broken, broken},
	} {
		cmds := []redis.Cmder{&redis.StringCmd{}, &redis.StringCmd{}}
		cmds[1].SetErr(x.command)
		if got := connErr(cmds, x.err); got != x.want {
			t.Errorf("%s: %v, want %v", x.claim, got, x.want)
		}
	}
}

// Commands past the queue share no options with the links. go-redis writes to the options while it connects, and
// each client has its own mutex.
func TestQueueCopiesOptions(t *testing.T) {
	t.Parallel()
	r := redis.NewClient(&redis.Options{})
	defer r.Close()
	m := New(Config{Endpoint: Endpoint{Redis: r, Subscriber: r}, SideTimeout: time.Second})
	if m.Redis.Options() == m.side.Options() {
		t.Error("both have the same")
	}
}
