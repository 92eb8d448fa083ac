package history

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestReaderMergesByTime(t *testing.T) {
	t.Parallel()
	dir, clock := t.TempDir(), StartClock()
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() { writeSome(t, filepath.Join(dir, fmt.Sprint("c", i, Ext)), clock) })
	}
	wg.Wait()
	events := read(t, NewReader(dir))
	if len(events) != 3*writers*each {
		t.Fatalf("%d events, want %d", len(events), 3*writers*each)
	}
	for i, e := range events[1:] {
		if e.At < events[i].At {
			t.Fatalf("event %d is of %v, the one before of %v", i+1, e.At, events[i].At)
		}
	}
}

const writers, each = 4, 50

func writeSome(t *testing.T, path string, clock Clock) {
	w, err := Create(path, clock)
	if err != nil {
		t.Error(err)
		return
	}
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				w.Write(Event{Kind: LockBegins, Client: path, Call: int64(i*each + n)})
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestTornLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	reader := NewReader(dir)
	path := filepath.Join(dir, "c0"+Ext)
	append := func(text string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	append(`{"at":1,"kind":"lock"}` + "\n" + `{"at":2,"ki`)
	if events := read(t, reader); len(events) != 1 || events[0].At != 1 {
		t.Errorf("read %v, want the first line alone", events)
	}
	append(`nd":"held"}` + "\n")
	if events := read(t, reader); len(events) != 2 || events[1].Kind != LockHeld {
		t.Errorf("read %v, want both lines, now that the second is whole", events)
	}
	append("{\"at\":}\n")
	if events, err := reader.Read(); err == nil {
		t.Errorf("read %v, want an error: a line in the middle is no event", events)
	}
}

func TestReaderPutsBeginsFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "c0"+Ext), StartClock())
	if err != nil {
		t.Fatal(err)
	}
	w.Write(Event{At: 5, Kind: LockHeld})
	w.Write(Event{At: 5, Kind: LockBegins})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if events := read(t, NewReader(dir)); events[0].Kind != LockBegins {
		t.Errorf("read %v", events)
	}
}

func TestWriterErrors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c0"+Ext)
	w, err := Create(path, StartClock())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, StartClock()); err == nil {
		t.Error("a history was written over")
	}
	if err := w.file.Close(); err != nil {
		t.Fatal(err)
	}
	w.Write(Event{Kind: LockBegins})
	if err := w.Close(); err == nil {
		t.Error("Close did not report that an event is missing")
	}
}

func TestClockOfOtherProcess(t *testing.T) {
	t.Parallel()
	clock := StartClock()
	other, err := ParseClock(clock.String())
	if err != nil {
		t.Fatal(err)
	}
	first, between, last := clock.Now(), other.Now(), clock.Now()
	if first < 0 || between < first || last < between || last > time.Minute {
		t.Errorf("clocks of one run: %v, %v, %v", first, between, last)
	}
	if _, err := ParseClock("now"); err == nil {
		t.Error("ParseClock took a word")
	}
}

func read(t *testing.T, r *Reader) []Event {
	t.Helper()
	events, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	return events
}
