package membership

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// What admission asks of a master, past its queue.

var (
	surveyScript = master.NewScript(script.SurveySource)
	admitScript  = master.NewScript(script.AdmitSource)
)

// hello is what a server says when a connection to it is new.
type hello struct {
	info     ServerInfo
	admitted string
	durable  durability
}

// helloCommands ask for one. CONFIG GET has one parameter a command: Redis 6 knows no more.
func (g *Group) helloCommands() []master.Command {
	return []master.Command{
		master.Text("info"),
		master.Text("get", g.Prefix+":admitted"),
		master.Pairs("config", "get", "appendonly"),
		master.Pairs("config", "get", "appendfsync"),
		master.Pairs("config", "get", "no-appendfsync-on-rewrite"),
	}
}

// readHello returns what the server said, or why it can be no master: a Sentinel and a
// node of a cluster refuse the commands that come after INFO.
func readHello(replies []master.Reply) (hello, error) {
	if err := replies[0].Err(); err != nil {
		return hello{}, err
	}
	info := ParseInfo(replies[0].Text())
	if why := info.unfit(); why != "" {
		return hello{}, fmt.Errorf("%w: %s", script.ErrNotAdmitted, why)
	}
	admitted := replies[1].Text()
	if err := replies[1].Err(); master.HasPrefix(err, "WRONGTYPE") {
		admitted = "corrupt" // and is repaired like any other text that nobody can have written
	} else if err != nil {
		return hello{}, err
	}
	config := make(map[string]string)
	for _, r := range replies[2:] {
		maps.Copy(config, r.Pairs())
	}
	h := hello{
		info:     info,
		admitted: admitted,
		durable:  durabilityOf(config),
	}
	if h.durable == NotDurable {
		notDurableRuns.Store(h.info["run_id"], true)
	} else if _, seen := notDurableRuns.Load(admittedRun(h.admitted)); seen {
		h.durable = NotDurable
	}
	return h, nil
}

// notDurableRuns has the server processes of which this one has seen that they were
// not durable. That is noted on the server as well, but such a server may lose the note.
var notDurableRuns sync.Map

// hello asks for one past the master's queue.
func (g *Group) hello(m *master.Master) (hello, error) {
	replies, err := m.Do(g.helloCommands()...)
	if err != nil {
		return hello{}, err
	}
	return readHello(replies)
}

// survey asks a master that may not vote, or lost a counter, what it has, and notes
// on it since when.
func (g *Group) survey(m *master.Master, d durability) (*Survey, error) {
	s, err := g.surveyed(m, surveyNotes, d, script.Buckets)
	if err == nil && !s.may() && !s.forgotNothing() {
		s.outFor = min(s.outFor, firstSeen.outFor(s.Run+" "+m.Name+" "+g.Prefix, s.Since, g.Now()))
	}
	return s, err
}

// look is survey, but for that it changes nothing.
func (g *Group) look(m *master.Master, d durability) (*Survey, error) {
	return g.surveyed(m, surveyLooks, d, script.Buckets)
}

// glance is look without the counters: whether the master can be looked into.
func (g *Group) glance(m *master.Master, d durability) (*Survey, error) {
	return g.surveyed(m, surveyLooks, d, 0)
}

const (
	surveyNotes = "note"
	surveyLooks = "look"
)

func (g *Group) surveyed(m *master.Master, mode string, d durability, counters int) (*Survey, error) {
	reply, err := m.EvalTexts(surveyScript, g.keys()[:1+counters], string(d), mode)
	if err != nil {
		return nil, err
	}
	s, err := ParseSurvey(reply, counters)
	if err != nil {
		return nil, fmt.Errorf("survey of %s: %w", m.Name, err)
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

// ParseSurvey reads survey.lua's reply about so many counters.
func ParseSurvey(reply []string, counters int) (s *Survey, err error) {
	if len(reply) != 4+counters {
		return nil, fmt.Errorf("%d values instead of %d", len(reply), 4+counters)
	}
	s = &Survey{Run: reply[0], admitted: reply[1], Since: reply[3], Counters: make([]int64, counters)}
	if s.in, err = readAdmitted(reply[1], s.Run); err != nil {
		return nil, err
	}
	now, err1 := number(reply[2], maxMillis)
	since, err2 := number(reply[3], maxMillis)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	s.outFor = time.Duration(now-since) * time.Millisecond
	for b, text := range reply[4:] {
		if s.Counters[b], err = number(text, script.MaxCounter); err != nil {
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
func (g *Group) raise(m *master.Master, s *Survey, floors []int64) error {
	hello, err := g.hello(m)
	if err != nil {
		return err
	}
	args := make([]any, 0, 3+len(floors))
	args = append(args, s.Run, s.Since, AdmittedValue(s.Run, hello.durable))
	for _, f := range floors {
		args = append(args, f)
	}
	err = m.Eval(admitScript, g.keys(), args...)
	if master.HasPrefix(err, "NOTADMITTED") {
		return master.NotAdmitted(err.Error(), master.MinRetry)
	}
	return err
}

// probeTTL is how long what sameServer writes is kept.
const probeTTL = 2 * Timeout

// sameServer reports whether what is written on one of two masters is found on the
// other. One direction is enough, if a server does not take part in the other.
func (g *Group) sameServer(one, other *master.Master) (same bool, err error) {
	there, err1 := g.found(one, other)
	back, err2 := g.found(other, one)
	if err1 != nil && err2 != nil {
		return false, errors.Join(err1, err2)
	}
	return there || back, nil
}

// found reports whether a random value that is written on one master is there on the
// other.
func (g *Group) found(written, other *master.Master) (bool, error) {
	key, value := g.Prefix+":probe:"+uuid.NewString(), uuid.NewString()
	if _, err := doOne(written, master.Text("set", key, value, "ex", int(probeTTL.Seconds()))); err != nil {
		return false, err
	}
	there, err := doOne(other, master.Text("get", key))
	return there == value, err
}

// doOne sends a text command to a master, whose name is in the error.
func doOne(m *master.Master, c master.Command) (string, error) {
	replies, err := m.Do(c)
	if err == nil {
		err = replies[0].Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Name, err)
	}
	return replies[0].Text(), nil
}

func (g *Group) keys() []string {
	keys := make([]string, 1, 1+script.Buckets)
	keys[0] = g.Prefix + ":admitted"
	for b := range script.Buckets {
		keys = append(keys, script.FenceKey(g.Prefix, b))
	}
	return keys
}
