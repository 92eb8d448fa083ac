package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/redisguard"
)

// redisLedger is a string and a list, and a guard or none.
type redisLedger struct {
	*redis.Client
	guard   *redisguard.Guard // nil: without
	account string
}

// bookScript takes the entry and the balance.
const bookScript = `
	redis.call('RPUSH', KEYS[1], ARGV[1])
	redis.call('SET', KEYS[2], ARGV[2])
	return 'OK'`

var (
	guardedBook   = redisguard.NewScript(bookScript)
	unguardedBook = redis.NewScript(bookScript)
)

func (l redisLedger) entries() string { return "{" + l.account + "}:entries" }
func (l redisLedger) balance() string { return "{" + l.account + "}:balance" }

func (l redisLedger) read(ctx context.Context) (int64, error) {
	if l.guard != nil {
		token, _ := fence.FromContext(ctx)
		if err := l.guard.Claim(ctx, l.account, token); err != nil {
			return 0, err
		}
	}
	return l.Get(ctx, l.balance()).Int64()
}

func (l redisLedger) book(ctx context.Context, entry, balance int64) error {
	keys := []string{l.entries(), l.balance()}
	if l.guard != nil {
		token, _ := fence.FromContext(ctx)
		return l.guard.Run(ctx, l.account, token, guardedBook, keys, entry, balance).Err()
	}
	return unguardedBook.Run(ctx, l, keys, entry, balance).Err()
}

func (l redisLedger) audit(ctx context.Context) (balance int64, entries []int64, err error) {
	balance, err = l.Get(ctx, l.balance()).Int64()
	return balance, entries, errors.Join(err, l.LRange(ctx, l.entries(), 0, -1).ScanSlice(&entries))
}

func openRedis(at place) (ledger, error) {
	options, err := redis.ParseURL(at.Source)
	if err != nil {
		return nil, err
	}
	options.MaxRetries = -1 // an entry must not be added twice
	l := redisLedger{Client: redis.NewClient(options), account: at.Account}
	if at.Guarded {
		l.guard, err = redisguard.New(l.Client)
	}
	return l, err
}

func foundRedis(t *testing.T, at place) string {
	t.Helper()
	at.Source, at.Guarded = needServers(t).store, false
	l, err := openRedis(at)
	must(t, err)
	must(t, l.book(t.Context(), opening, opening))
	must(t, l.Close())
	return at.Source
}
