package membership

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// Which servers may vote is decided here, and by nothing but what the servers
// say of themselves. All of it is pure; group.go acts on it.

// format is the layout of the keys. A deployment of another one is refused.
const format = "2"

// ServerInfo is what INFO tells of a server.
type ServerInfo map[string]string

// ParseInfo reads the reply to INFO.
func ParseInfo(text string) ServerInfo {
	info := ServerInfo{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok {
			info[key] = value
		}
	}
	return info
}

// unfit tells why a server can be no master, or returns "".
func (s ServerInfo) unfit() string {
	var major int
	_, _ = fmt.Sscanf(s["redis_version"], "%d", &major)
	mode := cmp.Or(s["redis_mode"], s["server_mode"]) // the second is Valkey's
	policy := s["maxmemory_policy"]
	switch {
	case major < 6:
		return fmt.Sprintf("its version is %q: version 6 or newer is needed", s["redis_version"])
	case s["cluster_enabled"] == "1" || mode == "cluster":
		return "it is a node of a Redis Cluster: give independent servers"
	case mode == "sentinel":
		return "it is a Sentinel: give a client made by redis.NewFailoverClient"
	case s["role"] != "master":
		return fmt.Sprintf("its role is %q: give the primary's address", s["role"])
	case policy != "" && policy != "noeviction" && s["maxmemory"] != "" && s["maxmemory"] != "0":
		return "it may evict keys (maxmemory-policy " + policy + "): set maxmemory-policy noeviction"
	}
	return ""
}

// durability is whether every write of a server is on disk before it is answered.
type durability string

const (
	durable    durability = "yes"
	NotDurable durability = "no"
	unknown    durability = "unknown" // who may not read the configuration cannot tell
)

// durabilityOf reads what CONFIG GET replied of what decides it.
func durabilityOf(config map[string]string) durability {
	all := durable
	for name, need := range map[string]string{"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"} {
		if value, told := config[name]; !told && all == durable {
			all = unknown
		} else if told && value != need {
			all = NotDurable
		}
	}
	return all
}

// AdmittedValue is what stands in the key that says which process may vote.
func AdmittedValue(run string, d durability) string {
	if d != durable {
		d = NotDurable
	}
	return fmt.Sprintf("in %s %s %d %s", run, format, script.Buckets, d)
}

// admittedRun is the process that was admitted last.
func admittedRun(admitted string) string {
	run, _, _ := strings.Cut(strings.TrimPrefix(admitted, "in "), " ")
	return run
}

// believedDurable reports that a server would be taken for durable when it restarts.
func believedDurable(admitted string) bool {
	return strings.HasPrefix(admitted, "in ") && strings.HasSuffix(admitted, " "+string(durable))
}

// admittedFormat is what AdmittedValue makes, and what another format may.
var admittedFormat = regexp.MustCompile(`^in ([0-9a-f]+) (\d+) (\d+) (yes|no)$`)

// readAdmitted reports whether the process run may vote, or why its data cannot
// be used at all. What nobody can have written is no reason: it is as if nothing was
// known.
func readAdmitted(value, run string) (in bool, err error) {
	fields := admittedFormat.FindStringSubmatch(value)
	if fields == nil {
		return false, nil
	}
	if fields[2] != format || fields[3] != fmt.Sprint(script.Buckets) {
		return false, fmt.Errorf("%w: its keys are of format %s with %s buckets, this library's are of format %s with %d",
			script.ErrNotAdmitted, fields[2], fields[3], format, script.Buckets)
	}
	return fields[1] == run, nil
}

// Survey is what a server that may or may not vote has (scripts/survey.lua).
type Survey struct {
	Run      string
	admitted string
	fresh    bool          // a moment before, nothing said that it had ever been used
	in       bool          // this very process was admitted
	outFor   time.Duration // how long ago it lost its vote, on its own clock and on ours
	Since    string        // when that was, on its own clock: for admit.lua
	Counters []int64       // by bucket; 0: lost
}

// lost returns how many counters are missing.
func (s *Survey) lost() int {
	n := 0
	for _, c := range s.Counters {
		if c == 0 {
			n++
		}
	}
	return n
}

// may reports that nothing keeps the server from voting.
func (s *Survey) may() bool { return s.in && s.lost() == 0 }

// forgotNothing: it restarted with every write on disk before it was answered.
func (s *Survey) forgotNothing() bool { return s.Since == "0" && s.lost() == 0 }

// empty: nothing was ever here, or all of it is gone.
func (s *Survey) empty() bool { return !s.in && s.lost() == len(s.Counters) }

// unused reports that of the masters that answered (nil: no answer) none was ever
// used, as far as they know.
func unused(hellos []*hello) bool {
	for _, h := range hellos {
		if h != nil && h.admitted != "" {
			return false
		}
	}
	return true
}

// loss is what happened to a server that sits out. One that was never used looks
// like one that lost everything.
func (s *Survey) loss() string {
	if s.empty() {
		return "is new or lost all its data"
	}
	return "restarted or lost data"
}

// Plan is what is to be done about one deployment: for each master the
// least values of its counters, nil where nothing is to be done, or why it may
// not vote.
type Plan struct {
	Floors [][]int64
	out    []error
}

// MakePlan decides who may vote from what the masters said (nil: no answer, and
// missing tells why).
// quarantine is how long one that may have forgotten grants stays out: until
// everything that it may have forgotten is over. floor is above every token of a
// deployment that lost them all (the Unix time in ms).
func MakePlan(surveys []*Survey, missing error, need int, quarantine time.Duration, floor int64) Plan {
	n := len(surveys)
	plan := Plan{Floors: make([][]int64, n), out: make([]error, n)}
	answered, fresh, empty, losers, waiting := 0, 0, 0, 0, time.Duration(0)
	var sources []*Survey
	for _, s := range surveys {
		if s == nil {
			continue
		}
		answered++
		if s.empty() {
			empty++
			if s.fresh {
				fresh++
			}
		}
		if s.lost() > 0 {
			losers++
		}
		if s.may() || s.forgotNothing() {
			sources = append(sources, s)
		} else {
			waiting = max(waiting, quarantine-s.outFor)
		}
	}
	tooFew := losers <= n-need && len(sources) < need
	if answered == n && (fresh == n || waiting <= 0 && (empty == n || tooFew)) {
		// A new deployment; or one that lost everything, or of which too many restarted
		// to learn from the others, and all that anybody may have forgotten is over.
		together := highest(surveys, floor)
		for i := range surveys {
			plan.Floors[i] = together
		}
		return plan
	}
	for i, s := range surveys {
		switch {
		case s == nil || s.may():
		case s.forgotNothing():
			plan.Floors[i] = make([]int64, len(s.Counters))
		case s.outFor < quarantine:
			left := quarantine - s.outFor
			again := min(left, master.MaxOut)
			if s.empty() && s.outFor < master.MaxOut/4 {
				again = min(left, master.MaxRetry) // another client may be founding the deployment
			}
			plan.out[i] = master.NotAdmitted(fmt.Sprintf("it %s, and sits out what it may have forgotten for another %v", s.loss(), left.Round(time.Millisecond)), again)
		case len(sources) >= need:
			plan.Floors[i] = highest(sources, 0)
		case empty == n:
			plan.out[i] = master.NotAdmitted(fmt.Sprintf("all masters lost their data, and the last sits out what it may have forgotten for another %v", waiting.Round(time.Millisecond)), min(waiting, master.MaxOut))
		case losers > n-need:
			plan.out[i] = errMajorityLost
		default:
			plan.out[i] = master.NotAdmitted(fmt.Sprintf("%d of %d masters may vote, too few to learn the counters from, and not all can be looked into: %v", len(sources), n, missing), master.MaxRetry)
		}
	}
	return plan
}

// ErrNeedsInit means that so many masters lost their counters that the others cannot
// tell what they were.
var ErrNeedsInit = errors.New("redlock: a majority of masters lost its counters: an operator must run `redlock init`")

// errMajorityLost is why a master may not vote then.
var errMajorityLost = fmt.Errorf("%w (%w)", ErrNeedsInit, script.ErrNotAdmitted)

// highest returns the highest value of each counter, and at least floor.
func highest(surveys []*Survey, floor int64) []int64 {
	top := make([]int64, len(surveys[0].Counters))
	for b := range top {
		top[b] = floor
		for _, s := range surveys {
			top[b] = max(top[b], s.Counters[b])
		}
	}
	return top
}
