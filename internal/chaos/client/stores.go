package main

import (
	"context"
	"database/sql"
	"errors"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/redisguard"
	"github.com/redlock-go/redlock/guard/sqlguard"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/work"
)

// places are the addresses of the stores.
type places struct{ redis, postgres string }

func open(at places) (stores []work.Store, closeAll func() error, err error) {
	options, err := redis.ParseURL(at.redis)
	if err != nil {
		return nil, nil, err
	}
	options.MaxRetries = -1 // a write must not be sent twice
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	guard, err := redisguard.New(client)
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	stores = []work.Store{guardedRedis{client, guard}, unguarded{client}}
	if at.postgres == "" {
		return stores, client.Close, nil
	}
	db, err := sql.Open("pgx", at.postgres)
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	closeAll = func() error { return errors.Join(client.Close(), db.Close()) }
	fenced, err := sqlguard.New(db, sqlguard.PostgreSQL)
	if err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	return append(stores, guardedPostgres{db, fenced}), closeAll, nil
}

// guardedRedis keeps a number in the key that has the name of the resource.
type guardedRedis struct {
	client *redis.Client
	guard  *redisguard.Guard
}

var claimAndGet = redisguard.NewScript(`return redis.call('GET', KEYS[1]) or '0'`)

func (guardedRedis) Name() string { return history.RedisGuarded }

func (s guardedRedis) Write(ctx context.Context, resource string, token fence.Token, value int64) error {
	return s.guard.Set(ctx, resource, token, resource, value, 0)
}

func (s guardedRedis) Read(ctx context.Context, resource string, token fence.Token) (int64, error) {
	if token == 0 {
		return get(ctx, s.client, resource)
	}
	return s.guard.Run(ctx, resource, token, claimAndGet, []string{resource}).Int64()
}

// unguarded is a store that accepts every write: it shows why a guard is needed.
type unguarded struct{ client *redis.Client }

func (unguarded) Name() string { return history.Unguarded }

func (s unguarded) Write(ctx context.Context, resource string, _ fence.Token, value int64) error {
	return s.client.Set(ctx, unguardedKey(resource), value, 0).Err()
}

func (s unguarded) Read(ctx context.Context, resource string, _ fence.Token) (int64, error) {
	return get(ctx, s.client, unguardedKey(resource))
}

func unguardedKey(resource string) string { return "unguarded:" + resource }

func get(ctx context.Context, client *redis.Client, key string) (int64, error) {
	value, err := client.Get(ctx, key).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return value, err
}

// guardedPostgres keeps a number in a row of the table registers.
type guardedPostgres struct {
	db    *sql.DB
	guard *sqlguard.Guard
}

func (guardedPostgres) Name() string { return history.PostgresGuarded }

func (s guardedPostgres) Write(ctx context.Context, resource string, token fence.Token, value int64) error {
	return s.guard.Do(ctx, resource, token, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO registers (resource, value) VALUES ($1, $2)
			ON CONFLICT (resource) DO UPDATE SET value = $2`, resource, value)
		return err
	})
}

func (s guardedPostgres) Read(ctx context.Context, resource string, token fence.Token) (value int64, err error) {
	if token == 0 {
		return selectValue(ctx, s.db, resource)
	}
	err = s.guard.Do(ctx, resource, token, func(tx *sql.Tx) error {
		value, err = selectValue(ctx, tx, resource)
		return err
	})
	return value, err
}

func selectValue(ctx context.Context, from interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, resource string) (value int64, err error) {
	err = from.QueryRowContext(ctx, `SELECT value FROM registers WHERE resource = $1`, resource).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return value, err
}
