package redlock

import (
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	d := processes(t, 5, redisproc.Config{})
	a, b := d.reached(), d.reached()
	k := script.KeysOf(limits.DefaultPrefix, "job", "")
	for i := range 3 { // skewed, so that the token has to be confirmed
		must(t, d.raw[i].IncrBy(background, k.Fence, int64(10*i)).Err())
	}
	expect := func(what string, token fence.Token, want Verdict) {
		t.Helper()
		got, err := b.Verify(background, "job", token)
		if got != want || (err != nil) != (want == VerifyUnknown) {
			t.Errorf("%s: %v (%v), want %v", what, got, err, want)
		}
	}
	first := mustTry(t, a, "job", WithoutWatchdog())
	expect("held", first.Token(), VerifyValid)
	expect("never minted", first.Token()+1, VerifyStale)
	must(t, first.Unlock(background))
	expect("released", first.Token(), VerifyStale)
	second, err := a.Lock(background, "job", WithoutWatchdog())
	must(t, err)
	expect("overtaken", first.Token(), VerifyStale)
	expect("its successor", second.Token(), VerifyValid)
	for i := range 3 {
		d.masters[i].freeze()
	}
	expect("a majority hung", second.Token(), VerifyUnknown)
	for i := range 3 {
		d.masters[i].thaw()
	}
	must(t, second.Unlock(background))
	_, err = b.Verify(background, "job", 0)
	requireOptionError(t, err, "token")
	_, err = b.Verify(background, "", 1)
	requireOptionError(t, err, "name")
}
