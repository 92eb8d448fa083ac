package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
)

// What admission asks of a master, past its queue: on connections of their own,
// because it happens when the queue's has none that may be used.

var (
	surveyScript = redis.NewScript(assembled("counter", "survey"))
	admitScript  = redis.NewScript(assembled("counter", "admit"))
)

// hello is what a server says when a connection to it is new.
type hello struct {
	info     serverInfo
	admitted string
	durable  durability
}

// helloCmds are the commands that make a hello.
type helloCmds struct {
	info, admitted *redis.StringCmd
	config         []*redis.MapStringStringCmd // one a parameter: Redis 6 knows no more
}

func (m *master) askHello(ctx context.Context, p redis.Pipeliner) *helloCmds {
	return &helloCmds{
		info:     p.Info(ctx),
		admitted: p.Get(ctx, m.prefix+":admitted"),
		config: []*redis.MapStringStringCmd{
			p.ConfigGet(ctx, "appendonly"), p.ConfigGet(ctx, "appendfsync"), p.ConfigGet(ctx, "no-appendfsync-on-rewrite"),
		},
	}
}

// read returns what the server said, or why it can be no master: a Sentinel and a
// node of a cluster refuse the commands that come after INFO.
func (h *helloCmds) read() (hello, error) {
	if err := h.info.Err(); err != nil {
		return hello{}, err
	}
	info := parseInfo(h.info.Val())
	if why := info.unfit(); why != "" {
		return hello{}, fmt.Errorf("%w: %s", ErrNotAdmitted, why)
	}
	admitted, err := h.admitted.Result()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		admitted = "corrupt" // and is repaired like any other text that nobody can have written
	} else if err != nil && !errors.Is(err, redis.Nil) {
		return hello{}, err
	}
	config := make(map[string]string)
	for _, c := range h.config {
		maps.Copy(config, c.Val())
	}
	said := hello{
		info:     info,
		admitted: admitted,
		durable:  durabilityOf(config),
	}
	if said.durable == notDurable {
		notDurableRuns.Store(said.info["run_id"], true)
	} else if _, seen := notDurableRuns.Load(admittedRun(said.admitted)); seen {
		said.durable = notDurable
	}
	return said, nil
}

// notDurableRuns has the server processes of which this one has seen that they were
// not durable. That is noted on the server as well, but such a server may lose the note.
var notDurableRuns sync.Map

// connErr returns what kept a pipeline, which returned err, from its replies, or
// nil if every command has a reply or an error of its own. A server that refuses
// the password or the database does so while the connection is set up: an error
// that reads like a reply, and that go-redis gives to none of the commands.
func connErr(cmds []redis.Cmder, err error) error {
	failed := func(c redis.Cmder) bool { return c.Err() != nil }
	if isReply(err) && slices.ContainsFunc(cmds, failed) {
		return nil
	}
	return err
}

// ask says hello on a connection of its own.
func (m *master) ask() (hello, error) {
	ctx, cancel := context.WithTimeout(context.Background(), admissionTimeout)
	defer cancel()
	var said *helloCmds
	err := driving(func() error {
		cmds, err := m.aside.Pipelined(ctx, func(p redis.Pipeliner) error {
			said = m.askHello(ctx, p)
			return nil
		})
		return connErr(cmds, err)
	})
	if err != nil {
		return hello{}, err
	}
	return said.read()
}

// survey asks a master that may not vote, or lost a counter, what it has, and notes
// on it since when.
func (m *master) survey(d durability) (*survey, error) {
	s, err := m.ran(surveyNotes, d, buckets)
	if err == nil && !s.may() && !s.forgotNothing() {
		s.outFor = min(s.outFor, firstSeen.outFor(s.run+" "+m.name+" "+m.prefix, s.since, m.now()))
	}
	return s, err
}

// look is survey, but for that it changes nothing.
func (m *master) look(d durability) (*survey, error) { return m.ran(surveyLooks, d, buckets) }

// glance is look without the counters: whether the master can be looked into.
func (m *master) glance(d durability) (*survey, error) { return m.ran(surveyLooks, d, 0) }

const (
	surveyNotes = "note"
	surveyLooks = "look"
)

func (m *master) ran(mode string, d durability, counters int) (*survey, error) {
	ctx, cancel := context.WithTimeout(context.Background(), admissionTimeout)
	defer cancel()
	var reply []string
	err := driving(func() (err error) {
		reply, err = surveyScript.Run(ctx, m.aside, m.admissionKeys()[:1+counters], string(d), mode).StringSlice()
		return err
	})
	if err != nil {
		return nil, err
	}
	s, err := parseSurvey(reply, counters)
	if err != nil {
		return nil, fmt.Errorf("survey of %s: %w", m.name, err)
	}
	return s, nil
}

// firstSeen is since when this process knows that servers may not vote. What a
// server says of that is no better than its clock, which may have been set.
var firstSeen = sightings{of: make(map[string]sighting)}

type sightings struct {
	mu sync.Mutex
	of map[string]sighting // by server process, address and prefix
}

type sighting struct {
	since string // of which loss
	at    clock.Instant
}

// outFor returns for how long it is known that the server is out since then.
func (s *sightings) outFor(server, since string, now clock.Instant) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, seen := s.of[server]
	if !seen || first.since != since {
		first = sighting{since, now}
		s.of[server] = first
	}
	return now.Sub(first.at)
}

// parseSurvey reads survey.lua's reply about so many counters.
func parseSurvey(reply []string, counters int) (s *survey, err error) {
	if len(reply) != 4+counters {
		return nil, fmt.Errorf("%d values instead of %d", len(reply), 4+counters)
	}
	s = &survey{run: reply[0], admitted: reply[1], since: reply[3], counters: make([]int64, counters)}
	if s.in, err = readAdmitted(reply[1], s.run); err != nil {
		return nil, err
	}
	now, err1 := number(reply[2], maxMillis)
	since, err2 := number(reply[3], maxMillis)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	s.outFor = time.Duration(now-since) * time.Millisecond
	for b, text := range reply[4:] {
		if s.counters[b], err = number(text, maxCounter); err != nil {
			return nil, fmt.Errorf("counter %d: %w", b, err)
		}
	}
	return s, nil
}

// maxMillis is the last time in ms of which a time.Duration can be told, in the year 2262.
const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// number reads one from 0 to most.
func number(text string, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 0 || n > most) {
		err = fmt.Errorf("%d is not from 0 to %d", n, most)
	}
	return n, err
}

// raise lets the server vote that s surveyed, with its counters at floors at least.
func (m *master) raise(s *survey, floors []int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), admissionTimeout)
	defer cancel()
	hello, err := m.ask()
	if err != nil {
		return err
	}
	args := make([]any, 0, 3+len(floors))
	args = append(args, s.run, s.since, admittedValue(s.run, hello.durable))
	for _, f := range floors {
		args = append(args, f)
	}
	err = driving(func() error { return admitScript.Run(ctx, m.aside, m.admissionKeys(), args...).Err() })
	if redis.HasErrorPrefix(err, "NOTADMITTED") {
		return &outError{err.Error(), minRetry}
	}
	return err
}

// probeTTL is how long what sameServer writes is kept.
const probeTTL = 2 * admissionTimeout

// sameServer reports whether what is written on one of two masters is found on the
// other. One direction is enough, if a server does not take part in the other.
func sameServer(a, b *master) (same bool, err error) {
	there, err1 := a.foundOn(b)
	back, err2 := b.foundOn(a)
	if err1 != nil && err2 != nil {
		return false, errors.Join(err1, err2)
	}
	return there || back, nil
}

// foundOn reports whether other has a random value that was just written on m.
func (m *master) foundOn(other *master) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), admissionTimeout)
	defer cancel()
	key, value := m.prefix+":probe:"+uuid.NewString(), uuid.NewString()
	if err := driving(func() error { return m.aside.Set(ctx, key, value, probeTTL).Err() }); err != nil {
		return false, fmt.Errorf("%s: %w", m.name, err)
	}
	var found string
	err := driving(func() (err error) {
		found, err = other.aside.Get(ctx, key).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fmt.Errorf("%s: %w", other.name, err)
	}
	return found == value, nil
}

func (m *master) admissionKeys() []string {
	keys := make([]string, 1, 1+buckets)
	keys[0] = m.prefix + ":admitted"
	for b := range buckets {
		keys = append(keys, fenceKey(m.prefix, b))
	}
	return keys
}
