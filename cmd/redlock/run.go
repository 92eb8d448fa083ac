//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/limits"
)

// run acquires the lock, runs the command and returns its status.
func (cfg *runConfig) run() int {
	path, err := exec.LookPath(cfg.Command[0])
	if err != nil {
		complain(err) // before the wait, which would be useless
		return cannotRun(err)
	}
	waiting := newLongWait(cfg)
	away := &away{masters: map[string]absence{}}
	client, err := connect(cfg, waiting, away)
	if err != nil {
		complain(err)
		if errors.Is(err, redlock.ErrBadOption) {
			return exitUsage
		}
		return exitUnavailable
	}
	defer client.Close()

	signals := catchSignals()
	ctx, giveUp := context.WithCancel(context.Background()) // also the context of the hold, so it must not end before the hold
	defer giveUp()
	lock, status := obtain(ctx, giveUp, client, cfg, waiting, signals)
	if lock == nil {
		return status
	}
	c, err := startChild(path, cfg.Command, environment(lock))
	if err != nil {
		complain(err)
		_ = lock.Unlock(context.Background()) // nothing ran, so nothing depends on the lock
		return cannotRun(err)
	}
	return hold(lock, c, cfg, away, signals)
}

// environment returns the environment for COMMAND: the variables of this process, with the name and the token of the
// hold. It leaves out the masters, because their URLs have passwords. It also removes the name and the token of
// an outer redlock run: if a variable is set twice, some programs read the first value, and others the last.
func environment(lock *redlock.Lock) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return name == nameVariable || name == tokenVariable || name == mastersVariable
	})
	return append(env, nameVariable+"="+lock.Name(), tokenVariable+"="+lock.Token().String())
}

// cannotRun returns the status with which shells report a command that did not start.
func cannotRun(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return exitNotFound
	}
	return exitCannotRun
}

// obtain waits for the lock. An error that no wait can mend ends the wait. A signal ends it too, and then
// obtain calls giveUp(). If obtain returns no lock, the status gives the cause.
func obtain(ctx context.Context, giveUp func(), client *redlock.Client, cfg *runConfig, waiting *longWait, signals <-chan os.Signal) (*redlock.Lock, int) {
	type outcome struct {
		lock *redlock.Lock
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		lock, err := cfg.acquire(ctx, client)
		done <- outcome{lock, err}
	}()
	abandon := func() {
		giveUp()
		if o := <-done; o.lock != nil {
			_ = o.lock.Unlock(context.Background()) // nothing ran, so nothing depends on the lock
		}
	}
	waiting.began = time.Now()
	due := waiting.next()
	for {
		select {
		case <-due:
			waiting.speak(ctx, client)
			due = waiting.next()
		case o := <-done:
			if o.err != nil {
				return nil, explain(o.err, client, cfg)
			}
			return o.lock, exitOK
		case s := <-signals:
			if !ends(s) {
				continue
			}
			abandon()
			return nil, exitSignal + int(s.(syscall.Signal))
		}
	}
}

// acquire acquires the lock. The default ttl and grace depend on the deployment's max ttl, which only the
// masters have. So a first call of Lock uses the longest defaults. If these do not fit, this call fails as
// soon as the masters have answered, and a second call uses shorter defaults.
func (cfg *runConfig) acquire(ctx context.Context, client *redlock.Client) (*redlock.Lock, error) {
	began := time.Now()
	options := cfg.lockOptions(0)
	if cfg.TTL == nil {
		options = append(options, redlock.WithTTL(min(limits.DefaultTTL, cfg.maxTTL()-cfg.grace)))
	}
	lock, err := client.Lock(ctx, cfg.Name, options...)
	if !errors.Is(err, redlock.ErrBadOption) {
		return lock, err
	}
	members, unknown := admin.Members(ctx, client)
	if unknown != nil {
		return nil, err
	}
	cfg.fit(min(cfg.maxTTL(), members.MaxTTL))
	return client.Lock(ctx, cfg.Name, cfg.lockOptions(time.Since(began))...)
}

// explain prints why the lock was not acquired, and returns the status.
func explain(err error, client *redlock.Client, cfg *runConfig) int {
	held := errors.Is(err, redlock.ErrHeld)
	if held && cfg.quiet() {
		return cfg.NotObtained
	}
	within := ""
	if errors.Is(err, redlock.ErrNeedsSetup) {
		within = ", and not waited for (--wait-for-setup does)"
	} else if cfg.Wait != nil && *cfg.Wait > 0 {
		within = fmt.Sprintf(" within %v", *cfg.Wait)
	}
	err = cfg.worded(err)
	complain(fmt.Errorf("%q not obtained%s: %s", cfg.Name, within, cfg.reason(context.Background(), client, err)))
	cfg.hint(held)
	switch {
	case held:
		return cfg.NotObtained
	case errors.Is(err, redlock.ErrBadOption):
		return exitUsage
	}
	return exitUnavailable
}

// reason returns why an attempt failed. If the lock is held, it asks the masters for the holder.
func (cfg *runConfig) reason(ctx context.Context, client *redlock.Client, err error) string {
	why := reason(err, cfg.Verbose)
	switch {
	case !errors.Is(err, redlock.ErrHeld):
		return why
	case cfg.Verbose:
		return why + ": " + heldBy(ctx, client, cfg.Name)
	}
	return heldBy(ctx, client, cfg.Name)
}

// reason returns why an attempt failed. Unless verbose is set, it leaves out the answers of the masters in two
// cases: the lock is held, or the masters need redlock init.
func reason(err error, verbose bool) string {
	if errors.Is(err, redlock.ErrNeedsInit) && !verbose {
		return oneLine(redlock.ErrNeedsInit)
	}
	if q, ok := errors.AsType[*redlock.QuorumError](err); ok {
		err = q
		if errors.Is(q.Reason, redlock.ErrHeld) && !verbose {
			err = q.Reason
		}
	}
	return oneLine(err)
}

// hold waits until the command has ended, and returns the command's status. Meanwhile it passes signals on to the
// command. If the lock is lost, it stops the command, and returns cfg.Lost.
func hold(lock *redlock.Lock, c *child, cfg *runConfig, away *away, signals <-chan os.Signal) int {
	for {
		select {
		case <-lock.Context().Done():
			lost(lock, c, cfg.grace, away)
			return cfg.Lost
		case s := <-signals:
			c.passedOn = true
			if err := c.signal(s.(syscall.Signal)); err != nil {
				complain(fmt.Errorf("not passed on to the command: %w", err))
			}
		case state := <-c.states:
			if state.Stopped() {
				c.suspend(state.StopSignal(), lock.Valid)
				continue
			}
			c.takeTerminalBack()
			c.interruptJob(state)
			return release(lock, statusOf(state), cfg.Lost, away)
		}
	}
}

// release releases the lock after the command has ended. It returns the command's status, or the status ifLost if the
// lock was lost.
func release(lock *redlock.Lock, status, ifLost int, away *away) int {
	err := lock.Unlock(context.Background())
	switch {
	case errors.Is(err, redlock.ErrExpired), errors.Is(err, redlock.ErrLost):
		complain(fmt.Errorf("%q (token %v) was lost before the command had ended, with status %d: %s", lock.Name(), lock.Token(), status, away.reason(err)))
		return ifLost
	case err != nil:
		complain(fmt.Errorf("%q is held on some masters until its ttl has passed: %s", lock.Name(), oneLine(err)))
	}
	return status
}

// statusOf returns the status with which a shell reports how a command ended.
func statusOf(state syscall.WaitStatus) int {
	if state.Signaled() {
		return exitSignal + int(state.Signal())
	}
	return state.ExitStatus()
}
