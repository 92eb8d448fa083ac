module github.com/redlock-go/redlock/guard/redisguard

go 1.26.0

require (
	github.com/redis/go-redis/v9 v9.17.3
	github.com/redlock-go/redlock v0.1.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
)

replace github.com/redlock-go/redlock => ../..
