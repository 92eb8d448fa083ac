package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/play"
)

// The uses of a seed. Each use has a random sequence of its own.
const (
	forSetup uint64 = iota << 32
	forGuarded
	forUnguarded
	forWire
	forLacks
	forLists
)

// spares is the number of masters that are no founders.
const spares = 2

// setup is the deployment of a round and its clients.
type setup struct {
	seed     uint64
	founders int
	clients  int
	workers  int // of each client
	names    int
	ttl      time.Duration
	maxTTL   time.Duration
	request  time.Duration // timeout
	latency  time.Duration // one way, on average
	length   int           // of the phase within the fault model, in ttls
	outside  int           // of the phase out of the fault model, in ttls
	reads    int           // of a hundred locks, how many are for reading
	sets     int           // of a hundred calls for locks, how many are for several names together
	lacks    int           // founders that are missing in the list of one client
}

// newSetup draws a setup from the seed.
func newSetup(seed uint64, length int) setup {
	chance := rand.New(rand.NewPCG(seed, forSetup))
	ttl := oneOf(chance, 500*time.Millisecond, 2*time.Second, 5*time.Second, 10*time.Second, 30*time.Second, time.Minute)
	request := min(ttl*3/10, 500*time.Millisecond)
	outside := 0
	if seed%3 == 0 {
		outside = max(length/3, 12)
	}
	// Even the slowest network leaves time for an attempt during a change of the members. Such an attempt takes at
	// least four round trips to the slowest master.
	s := setup{
		seed:     seed,
		founders: oneOf(chance, 3, 5, 5, 7),
		clients:  2 + chance.IntN(3),
		workers:  1 + chance.IntN(3),
		names:    1 + chance.IntN(5),
		ttl:      ttl,
		maxTTL:   2 * ttl,
		request:  request,
		latency:  oneOf(chance, request/1000, request/100, request/40),
		length:   length,
		outside:  outside,
		reads:    oneOf(chance, 0, 20, 50, 80),
		sets:     oneOf(chance, 0, 0, 10, 40),
		lacks:    lacksOf(seed),
	}
	if seed%30 == 8 { // a crowd of clients
		s.clients, s.workers = 32, 1
	}
	return s
}

// lacksOf draws how many founders one client does not name: mostly none. The draw has a random sequence of its own, so
// that no other draw depends on it.
func lacksOf(seed uint64) int {
	return oneOf(rand.New(rand.NewPCG(seed, forLacks)), 0, 0, 0, 0, 1, 2)
}

func oneOf[T any](chance *rand.Rand, of ...T) T { return of[chance.IntN(len(of))] }

// with returns s with the values that text lists, such as "founders=5 ttl=500ms", in place of the drawn values.
func (s setup) with(text string) (setup, error) {
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		var err error
		if n := s.numbers()[key]; n != nil {
			*n, err = strconv.Atoi(value)
		} else if d := s.durations()[key]; d != nil {
			*d, err = time.ParseDuration(value)
		} else {
			err = errors.New("it must be one of founders, clients, workers, names, ttl, max-ttl, request, latency, outside, reads, sets and lacks")
		}
		if err != nil {
			return s, fmt.Errorf("sim: setup: %q: %w", word, err)
		}
	}
	return s, nil
}

func (s *setup) numbers() map[string]*int {
	return map[string]*int{"founders": &s.founders, "clients": &s.clients, "workers": &s.workers, "names": &s.names, "outside": &s.outside, "reads": &s.reads, "sets": &s.sets, "lacks": &s.lacks}
}

func (s *setup) durations() map[string]*time.Duration {
	return map[string]*time.Duration{"ttl": &s.ttl, "max-ttl": &s.maxTTL, "request": &s.request, "latency": &s.latency}
}

// quarantine returns the longest time until a master that lost its data votes again, if clients reach it.
func (s setup) quarantine() time.Duration { return s.maxTTL + s.ttl + 2*time.Second }

// needsInit returns the longest time until clients notice that a majority lost its data.
func (s setup) needsInit() time.Duration { return s.quarantine() + 5*time.Second }

// recovery returns the longest time from the end of all faults until every name can be locked. If a majority lost its
// data, the operator waits until all leases are over, then founds a deployment by force.
func (s setup) recovery() time.Duration { return s.needsInit() + s.maxTTL + 10*time.Second }

// restored returns the longest time after recovery() until the founders are the only members again. Each spare that has
// a founder's place gives it back, and each added spare is removed. Each such change takes a quarantine.
func (s setup) restored() time.Duration { return 2*spares*s.quarantine() + s.quarantine() }

// turns returns the longest time until a client has locked something. All other clients may be before it in the queue
// of a name, and each of them may hold the name for longer than the ttl.
func (s setup) turns() time.Duration { return time.Duration(max(4, 2*s.clients)) * s.ttl }

func (s setup) phases() play.Phases {
	return play.Phases{
		InModel:    time.Duration(s.length) * s.ttl,
		OutOfModel: time.Duration(s.outside) * s.ttl,
		Healed:     s.recovery() + s.restored() + s.turns(),
	}
}

func (s setup) bounds() check.Bounds {
	return check.Bounds{
		Patience:   s.patience(),
		Hung:       2*s.ttl + 5*time.Second,
		Outlive:    s.ttl + 3*time.Second,
		GiveBack:   2*s.request + 10*s.latency,
		Recovery:   s.recovery(),
		Silent:     2*s.request + 10*s.latency,
		Quarantine: s.quarantine(),
	}
}

// patience returns the longest wait of a waiter.
func (s setup) patience() time.Duration { return 80 * s.ttl }

func (s setup) plan() fault.Plan {
	return fault.Plan{
		Masters: s.founders, Spares: spares, Clients: s.clientNames(), Locks: s.names, TTL: s.ttl, Quarantine: s.quarantine(),
	}
}

func (s setup) clientNames() []string { return numbered("c", s.clients) }
func (s setup) lockNames() []string   { return numbered("n", s.names) }

// list returns the masters that a client names. The first half of the clients name only the founders. Each later client
// names one spare more than the previous client, up to all spares. One client may name fewer
// founders, but names a majority of them.
func (s setup) list(client int) (masters []int) {
	lacks := s.lacking(client)
	for n := range min(s.founders+max(0, client-s.clients/2+1), s.founders+spares) {
		if !slices.Contains(lacks, n) {
			masters = append(masters, n)
		}
	}
	return masters
}

// lacking returns the founders that are missing in a client's list.
func (s setup) lacking(client int) []int {
	chance := rand.New(rand.NewPCG(s.seed, forLists))
	if chance.IntN(s.clients) != client {
		return nil
	}
	return chance.Perm(s.founders)[:min(s.lacks, (s.founders-1)/2)]
}

func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return names
}
