package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// The sets of these tests overlap: up to 4 of 5 names, in any order.
const (
	overlapNames = 5
	overlapWork  = 2 * time.Millisecond
)

// drawSet returns different names, in any order.
func drawSet(random *rand.Rand) []string {
	var names []string
	for _, i := range random.Perm(overlapNames)[:1+random.IntN(4)] {
		names = append(names, fmt.Sprint("n", i))
	}
	return names
}

// servedWithin is the bound of docs/PROTOCOL.md ("Several names"): so many others, each of which
// keeps what it has got for at most hold.
func servedWithin(others, names int, hold time.Duration) time.Duration {
	bound := acquire.JointTries * hold
	for range names {
		bound *= time.Duration(others + 1)
	}
	return bound
}

// overlapping is what the clients of one of these tests have and had.
type overlapping struct {
	t       *testing.T
	mu      sync.Mutex
	holder  map[string]int         // by name
	token   map[string]fence.Token // the highest seen
	granted map[string]int         // by name, ever
	line    []map[string]int       // by client and name: granted when it was first told to wait
	turns   int                    // the most that others had while one was in line for a name
	longest time.Duration
}

// observer follows a client through the lines.
func (o *overlapping) observer(client int) redlock.Observer {
	return redlock.Observer{
		AttemptFailed: func(_ context.Context, a redlock.FailedAttempt) {
			o.mu.Lock()
			defer o.mu.Unlock()
			if _, in := o.line[client][a.Name]; !in {
				o.line[client][a.Name] = o.granted[a.Name]
			}
		},
		Acquired: func(_ context.Context, a redlock.Acquisition) {
			name := a.Name
			o.mu.Lock()
			defer o.mu.Unlock()
			if since, in := o.line[client][name]; in {
				o.turns = max(o.turns, o.granted[name]-since)
				delete(o.line[client], name)
			}
			o.granted[name]++
		},
	}
}

// hold checks that the client has its names alone, with newer tokens than before.
func (o *overlapping) hold(client int, locks *redlock.Locks, waited time.Duration) {
	o.mu.Lock()
	o.longest = max(o.longest, waited)
	for _, name := range locks.Names() {
		if other, held := o.holder[name]; held {
			o.t.Errorf("%s is held by %d and %d", name, other, client)
		}
		if locks.Token(name) <= o.token[name] {
			o.t.Errorf("token %v of %s after %v", locks.Token(name), name, o.token[name])
		}
		o.holder[name], o.token[name] = client, locks.Token(name)
	}
	o.mu.Unlock()
	time.Sleep(overlapWork)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range locks.Names() {
		delete(o.holder, name)
	}
	clear(o.line[client])
}

// Sets that overlap exclude each other, and each is served within the bound, in turns and in time:
// 8 clients, 1000 sets.
func TestOverlappingSetsAreServed(t *testing.T) {
	t.Parallel()
	const clients = 8
	sets := 1000 / clients
	if testing.Short() {
		sets /= 4
	}
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		o := &overlapping{t: t, holder: map[string]int{}, token: map[string]fence.Token{}, granted: map[string]int{}}
		var all []*redlock.Client
		for i := range clients {
			o.line = append(o.line, map[string]int{})
			all = append(all, d.Reached(redlock.WithObserver(o.observer(i))))
		}
		bound := servedWithin(clients-1, overlapNames, overlapWork+time.Millisecond)
		seed := rand.Uint64()
		var done sync.WaitGroup
		for i, c := range all {
			done.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				for range sets {
					began := time.Now()
					locks, err := c.LockAll(context.Background(), drawSet(random), redlock.WithWait(bound))
					if err != nil {
						t.Errorf("seed %d, client %d: %v", seed, i, err)
						return
					}
					o.hold(i, locks, time.Since(began))
					harness.Check(t, locks.Unlock(context.Background()))
				}
			})
		}
		done.Wait()
		if usual := time.Duration(clients*acquire.JointTries*overlapNames) * (overlapWork + time.Millisecond); o.longest > usual {
			t.Errorf("the longest wait was %v, which is far from usual: seed %d", o.longest, seed)
		}
		t.Logf("the longest wait was %v, of %v; the most turns of others in line for a name %d", o.longest, bound, o.turns)
		if most := (clients - 1) * acquire.JointTries; o.turns > most {
			t.Errorf("others had a name %d times while one was in line for it, above %d: seed %d", o.turns, most, seed)
		}
	})
}

const (
	overlapMasters = "REDLOCK_TEST_OVERLAP_MASTERS"
	overlapSeed    = "REDLOCK_TEST_OVERLAP_SEED"
	overlapSets    = 12
)

// The same with a process for each client, on redis-server processes.
func TestOverlappingSetsOfProcesses(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	d.Reached()
	var urls []string
	for _, m := range d.Masters {
		urls = append(urls, "redis://"+m.(harness.ProcessMaster).Addr())
	}
	const clients = 8
	var done sync.WaitGroup
	for i := range clients {
		done.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), overlapMasters+"="+strings.Join(urls, ","), overlapSeed+"="+strconv.Itoa(i))
			said, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(said), "served") {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
	done.Wait()
	for i := range overlapNames {
		harness.RequireHolders(t, d, "000", fmt.Sprint("n", i))
	}
	// Each set has incremented a count for each of its names, which takes two steps.
	counted := 0
	for i := range overlapNames {
		n, _ := d.Raw[0].Get(context.Background(), fmt.Sprint("count-n", i)).Int()
		counted += n
	}
	drawn := 0
	for i := range clients {
		random := rand.New(rand.NewPCG(uint64(i), 0))
		for range overlapSets {
			drawn += len(drawSet(random))
		}
	}
	if counted != drawn {
		t.Errorf("%d names were held one after the other, want %d: some at the same time", counted, drawn)
	}
}

// beOverlapping is one of those processes: it takes one set after the other, and says in the end
// how long it waited.
func beOverlapping(urls string) error {
	masters := strings.Split(urls, ",")
	c, err := redlock.Open(masters)
	if err != nil {
		return err
	}
	defer c.Close()
	seed, err := strconv.ParseUint(os.Getenv(overlapSeed), 10, 64)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	options, err := redis.ParseURL(masters[0])
	if err != nil {
		return err
	}
	store := redis.NewClient(options)
	defer store.Close()
	longest := time.Duration(0)
	for range overlapSets {
		began := time.Now()
		locks, err := c.LockAll(context.Background(), drawSet(random), redlock.WithWait(servedWithin(7, overlapNames, overlapWork)))
		if err != nil {
			return err
		}
		longest = max(longest, time.Since(began))
		for _, name := range locks.Names() {
			count, _ := store.Get(context.Background(), "count-"+name).Int()
			if err := store.Set(context.Background(), "count-"+name, count+1, 0).Err(); err != nil {
				return err
			}
		}
		if err := locks.Unlock(context.Background()); err != nil {
			return err
		}
	}
	fmt.Println("served: the longest wait was", longest)
	return nil
}
