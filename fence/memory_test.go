package fence_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/guardtest"
)

func TestMemoryConformance(t *testing.T) {
	t.Parallel()
	guardtest.Run(t, &cells{})
}

// cells is a store of strings in this process behind a Memory.
type cells struct {
	fence.Memory
	values sync.Map
}

func (c *cells) Write(ctx context.Context, resource string, token fence.Token, value string) error {
	return c.Do(ctx, resource, token, func() error {
		c.values.Store(resource, value)
		return nil
	})
}

func (c *cells) Fail(ctx context.Context, resource string, token fence.Token, _ string) error {
	return c.Do(ctx, resource, token, func() error { return errWrite })
}

func (c *cells) Read(_ context.Context, resource string) (string, error) {
	value, _ := c.values.Load(resource)
	text, _ := value.(string)
	return text, nil
}

var errWrite = errors.New("the write failed")

func TestMemoryReturnsWriteError(t *testing.T) {
	t.Parallel()
	var memory fence.Memory
	if err := memory.Do(t.Context(), "orders/17", 33, func() error { return errWrite }); err != errWrite {
		t.Errorf("Do = %v, want the very error of the write", err)
	}
	if err := memory.Do(t.Context(), "orders/17", 33, nil); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("Do without a write = %v, want fence.ErrInvalid", err)
	}
}

func TestMemoryPanicsWithoutContext(t *testing.T) {
	t.Parallel()
	var guard fence.Memory
	var none context.Context
	for what, call := range map[string]func(){
		"Claim": func() { _ = guard.Claim(none, "r", 34) },
		"Do":    func() { _ = guard.Do(none, "r", 34, func() error { return nil }) },
	} {
		func() {
			defer func() {
				if got := recover(); got != "fence: nil context" {
					t.Errorf("%s: the panic is %v", what, got)
				}
			}()
			call()
		}()
	}
}

func TestMemoryCanceledContext(t *testing.T) {
	t.Parallel()
	var memory fence.Memory
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := memory.Do(ctx, "orders/17", 33, func() error {
		t.Error("the write ran")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v, want context.Canceled", err)
	}
	if err := memory.Claim(t.Context(), "orders/17", 1); err != nil {
		t.Errorf("claim with token 1: %v: the fence was raised by a context that had ended", err)
	}
}

func TestMemoryClaimWaitsForWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var memory fence.Memory
		finish := make(chan struct{})
		go func() {
			_ = memory.Do(t.Context(), "orders/17", 33, func() error {
				<-finish
				return nil
			})
		}()
		synctest.Wait()

		claimed := false
		go func() {
			if err := memory.Claim(t.Context(), "orders/17", 34); err != nil {
				t.Errorf("claim: %v", err)
			}
			claimed = true
		}()
		synctest.Wait()
		if claimed {
			t.Error("claim returned while an older write was running: it may still land")
		}

		if err := memory.Claim(t.Context(), "orders/18", 1); err != nil {
			t.Errorf("claim of another resource: %v", err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		var gaveUp error
		go func() { gaveUp = memory.Claim(ctx, "orders/17", 35) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(gaveUp, context.Canceled) {
			t.Errorf("claim whose context ended while it waited = %v, want context.Canceled", gaveUp)
		}

		close(finish)
		synctest.Wait()
		if !claimed {
			t.Error("claim did not return after the older write had")
		}
	})
}

func TestMemoryUnlocksAfterPanic(t *testing.T) {
	t.Parallel()
	var memory fence.Memory
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of the write was swallowed")
			}
		}()
		_ = memory.Do(t.Context(), "orders/17", 33, func() error { panic("write") })
	}()
	if err := memory.Claim(t.Context(), "orders/17", 33); err != nil {
		t.Errorf("claim after a panic: %v", err)
	}
}
