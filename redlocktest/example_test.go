package redlocktest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

// exampleT replaces the *testing.T of a test, because an example has none.
type exampleT struct {
	testing.TB // nil: the methods that New and the Deployment call are below
	cleanups   []func()
}

func (*exampleT) Helper()                           {}
func (*exampleT) Context() context.Context          { return context.Background() }
func (t *exampleT) Cleanup(f func())                { t.cleanups = append(t.cleanups, f) }
func (*exampleT) Errorf(format string, args ...any) { log.Fatalf(format, args...) }
func (*exampleT) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }
func (*exampleT) Fatal(args ...any)                 { log.Fatal(args...) }

// inTest returns the t of a test, and a function that ends that test.
func inTest() (t *exampleT, end func()) {
	t = new(exampleT)
	return t, func() {
		for _, cleanup := range slices.Backward(t.cleanups) {
			cleanup()
		}
	}
}

func ExampleNew() {
	t, end := inTest() // your test has its t
	defer end()

	client := redlocktest.New(t).Client()
	lock, err := client.Lock(t.Context(), "payroll")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("a token:", lock.Token().Valid())
	fmt.Println(lock.Unlock(t.Context()))
	// Output:
	// a token: true
	// <nil>
}

// In a bubble of testing/synctest, an hour takes some milliseconds.
func ExampleNew_virtualTime() {
	_ = func(t *testing.T) { // your test
		synctest.Test(t, func(t *testing.T) {
			client := redlocktest.New(t).Client() // in the bubble, with its t
			lock, err := client.Lock(t.Context(), "payroll")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if err := lock.Unlock(t.Context()); err != nil {
				t.Error(err) // the lock was lost within the hour
			}
		})
	}
}

func ExampleDeployment_Expire() {
	t, end := inTest() // your test has its t
	defer end()

	d := redlocktest.New(t)
	lock, err := d.Client().Lock(t.Context(), "payroll")
	if err != nil {
		t.Fatal(err)
	}
	d.Expire("payroll")
	<-lock.Context().Done()
	fmt.Println("lost:", errors.Is(context.Cause(lock.Context()), redlock.ErrLost))
	// Output: lost: true
}

func ExampleDeployment_Steal() {
	t, end := inTest() // your test has its t
	defer end()

	d := redlocktest.New(t)
	lock, err := d.Client().Lock(t.Context(), "payroll")
	if err != nil {
		t.Fatal(err)
	}
	rival := d.Steal("payroll")
	<-lock.Context().Done()
	fmt.Println("lost:", errors.Is(context.Cause(lock.Context()), redlock.ErrLost))
	fmt.Println("a store that has seen the rival refuses the holder:", lock.Token() < rival.Token())
	// Output:
	// lost: true
	// a store that has seen the rival refuses the holder: true
}

func ExampleDeployment_Kill() {
	t, end := inTest() // your test has its t
	defer end()

	d := redlocktest.New(t) // five masters
	client := d.Client()
	d.Kill(0)
	d.Kill(1)
	_, err := client.Lock(t.Context(), "payroll")
	fmt.Println("with three masters:", err)

	d.Kill(2)
	_, err = client.TryLock(t.Context(), "report")
	fmt.Println("with two, there is no quorum:", errors.Is(err, redlock.ErrNoQuorum))

	d.Start(2)
	_, err = client.Lock(t.Context(), "report")
	fmt.Println("with three again:", err)
	// Output:
	// with three masters: <nil>
	// with two, there is no quorum: true
	// with three again: <nil>
}

func ExampleDeployment_Freeze() {
	t, end := inTest() // your test has its t
	defer end()

	d := redlocktest.New(t, redlocktest.Masters(3))
	client := d.Client()
	d.Freeze(0)
	lock, err := client.Lock(t.Context(), "payroll")
	fmt.Println("without an answer of one master:", err)

	d.Thaw(0)
	fmt.Println(lock.Unlock(t.Context()))
	// Output:
	// without an answer of one master: <nil>
	// <nil>
}

func ExampleDeployment_Wipe() {
	t, end := inTest() // your test has its t
	defer end()

	d := redlocktest.New(t, redlocktest.Masters(3))
	if _, err := d.Client().Lock(t.Context(), "payroll"); err != nil {
		t.Fatal(err)
	}
	d.Wipe(0) // this master has no locks, and does not vote
	_, err := d.Client().TryLock(t.Context(), "payroll")
	fmt.Println("the others know who holds it:", errors.Is(err, redlock.ErrHeld))
	// Output: the others know who holds it: true
}

func ExampleDeployment_JumpClock() {
	t, end := inTest() // your test has its t
	defer end()

	d := redlocktest.New(t, redlocktest.Masters(3))
	if _, err := d.Client().Lock(t.Context(), "payroll"); err != nil {
		t.Fatal(err)
	}
	d.JumpClock(0, time.Hour) // there the lock has expired
	_, err := d.Client().TryLock(t.Context(), "payroll")
	fmt.Println("a majority says that it is held:", errors.Is(err, redlock.ErrHeld))
	// Output: a majority says that it is held: true
}
