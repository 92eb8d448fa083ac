package gocronlock

import (
	"context"
	"sync"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/leader"
)

// Elector elects one of many schedulers. Only the elected scheduler runs the jobs.
type Elector struct {
	elector *leader.Elector

	mu   sync.Mutex
	term context.Context // nil while not leading
	jobs sync.WaitGroup  // of the term
}

var _ gocron.Elector = (*Elector)(nil)

// NewElector returns a candidate of the election of this name; see leader.New. The candidate leads
// only during Run.
func NewElector(client *redlock.Client, name string, opts ...leader.Option) (*Elector, error) {
	elector, err := leader.New(client, name, opts...)
	if err != nil {
		return nil, err
	}
	return &Elector{elector: elector}, nil
}

// Run campaigns and leads until ctx ends; see leader.Elector.Run, whose errors it returns. When a term ends, Run
// waits until the running jobs (those made by Job) have ended. If the lock was not lost, Run keeps the name until
// then.
func (e *Elector) Run(ctx context.Context) error {
	return e.elector.Run(ctx, func(term context.Context, _ fence.Token) error {
		e.begins(term)
		<-term.Done()
		e.over()
		e.jobs.Wait()
		return context.Cause(term)
	})
}

func (e *Elector) begins(term context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = term
}

// over ends the term for new jobs.
func (e *Elector) over() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = nil
}

// leads reports whether there is a term. The caller must hold mu.
func (e *Elector) leads() bool { return e.term != nil && e.elector.IsLeader() }

// join adds one to the running jobs, and returns the context of the term. If there is no term, join returns nil.
func (e *Elector) join() context.Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.leads() {
		return nil
	}
	e.jobs.Add(1)
	return e.term
}

// IsLeader is called by gocron. It returns nil while this process leads, else leader.ErrNotLeading.
func (e *Elector) IsLeader(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.leads() {
		return leader.ErrNotLeading
	}
	return nil
}

// Job returns the function for gocron.NewTask. The function calls work with a context that ends with the term or with
// the job's own context, and that carries the term's token. If this process does not lead (any more) when the job
// starts, the function returns leader.ErrNotLeading, and does not call work.
func (e *Elector) Job(work func(ctx context.Context, token fence.Token) error) func(context.Context) error {
	return func(job context.Context) error {
		term := e.join()
		if term == nil {
			return leader.ErrNotLeading
		}
		defer e.jobs.Done()
		ctx, cancel := context.WithCancelCause(term)
		defer cancel(nil)
		defer context.AfterFunc(job, func() { cancel(context.Cause(job)) })()
		token, _ := fence.FromContext(ctx)
		return work(ctx, token)
	}
}
