package faultproxy

import "sync"

// Fault is an active rule. All methods may be called at any time and from several goroutines.
type Fault struct {
	proxy *Proxy
	rule  Rule

	picked int // requests that matched since Add; guarded by the proxy's mu

	mu       sync.Mutex
	hits     int
	released chan struct{} // closed and replaced by Release
	seen     chan struct{}
	answered chan struct{}
	done     bool // answered is closed
}

func newFault(p *Proxy, r Rule) *Fault {
	return &Fault{
		proxy:    p,
		rule:     r,
		released: make(chan struct{}),
		seen:     make(chan struct{}),
		answered: make(chan struct{}),
	}
}

// Hits returns how often the rule has acted. A rule on replies acts when the reply comes.
func (f *Fault) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

// Seen returns a channel that is closed once the rule has acted for the first time: the message is lost, sent twice or
// cut, or the hold has begun.
func (f *Fault) Seen() <-chan struct{} { return f.seen }

// Answered returns a channel that is closed once the master has answered a request on which the rule acted, whether the
// client receives the answer or not. Use the channel to wait until a late request was executed.
func (f *Fault) Answered() <-chan struct{} { return f.answered }

// Release lets everything go that the rule holds at this moment. It does not wait until the messages arrive: for that,
// use Answered. Messages that the rule holds later need another Release.
func (f *Fault) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.released)
	f.released = make(chan struct{})
}

// Remove removes the rule, so that it acts on no further request, and releases what it holds.
func (f *Fault) Remove() {
	f.proxy.remove(f)
	f.Release()
}

// hit counts an action, and returns the channel that the next Release closes. Both happen under one mutex, so that a
// Release after Seen ends the hold.
func (f *Fault) hit() (released <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hits++
	if f.hits == 1 {
		close(f.seen)
	}
	return f.released
}

func (f *Fault) answer() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		f.done = true
		close(f.answered)
	}
}

// linger waits until the hold is released. It returns false if the proxy was closed meanwhile.
func (f *Fault) linger() bool {
	select {
	case <-f.hit():
		return true
	case <-f.proxy.ctx.Done():
		return false
	}
}
