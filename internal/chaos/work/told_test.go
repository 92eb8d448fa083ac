package work

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// Every entry of a hold whose lease runs out is told, and one that unlocks is not.
func TestTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := history.Create(filepath.Join(dir, "c0"+history.Ext), history.StartClock())
	if err != nil {
		t.Fatal(err)
	}
	master, err := redisproc.Start(redisproc.Config{})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := master.Stop(); err != nil {
			t.Error(err)
		}
	})
	client, err := redlock.Open([]string{master.URL()}, redlock.WithTTL(time.Second), redlock.WithoutWatchdog(),
		redlock.WithRequestTimeout(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Init(t.Context(), client, 0); err != nil {
		t.Fatal(err)
	}
	w := &worker{Settings: Settings{TTL: time.Second}, client: client, calls: newRecorder(out, 0, 1)}
	var expired []int64 // the calls of entries
	for _, expires := range []bool{false, true} {
		first, ok := w.lock(t.Context(), "a", history.Event{Depth: 1})
		again, ok2 := entry{}, false
		if ok {
			again, ok2 = w.lock(first.lock.Context(), "a", history.Event{Depth: 2})
		}
		if !ok2 {
			t.Fatal("the lock was not had")
		}
		if expires {
			expired = []int64{first.known.Call, again.known.Call}
			<-again.lock.Context().Done()
		}
		_ = again.lock.Unlock(t.Context()) // that it has expired is the point
		_ = first.lock.Unlock(t.Context())
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	var told []int64
	for deadline := time.Now().Add(30 * time.Second); len(told) < 2 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		events, err := history.NewReader(dir).Read()
		if err != nil {
			t.Fatal(err)
		}
		told = nil
		for _, e := range events {
			if e.Kind == history.Told && e.Err == history.ErrExpired {
				told = append(told, e.Call)
			}
		}
	}
	if slices.Sort(told); !slices.Equal(told, expired) {
		t.Errorf("the entries of the calls %v were told, want %v", told, expired)
	}
	if err := out.Close(); err != nil {
		t.Error(err)
	}
}
