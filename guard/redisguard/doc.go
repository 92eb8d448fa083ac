// Package redisguard is a fence.Guard for data in Redis. The check of the token and the write are
// one Lua script, and so one atomic operation of the server.
//
// # Keys
//
// The fence of a resource is a string at
//
//	{<resource>}:fence     the highest token, in decimal; never expires
//
// The braces are a hash tag, so on Redis Cluster the fence is in the slot of <resource>. A data key
// is in the same slot if it equals the resource ("user:42" for the resource "user:42") or has the
// resource as its hash tag ("{user:42}:cart"). Other data keys work on a single server only; a
// cluster refuses them with CROSSSLOT, before anything is written. Resource names may not have
// braces themselves. All keys of a script are declared. The guard refuses a fence key of any
// resource as a data key: a write to it could let an old holder back in, or fence off all holders.
//
// Each resource costs one small key for ever: a forgotten fence lets an old holder back in.
//
// # One lock name for each resource
//
// Tokens of different lock names have no order. Write a resource with tokens of one name only:
// otherwise a valid holder may be refused, and a former holder may pass. The guard cannot notice
// that. Programs notice it with fence.CheckLockName, which keeps one more key for each resource:
// {redlock/lockname/<resource>}:fence.
//
// # What is not promised
//
// After the loss of a fence, the guard accepts the next token, even a stale one, and sets the fence to it. Fences are
// lost by FLUSHALL, FLUSHDB and DEL; by eviction under the allkeys policies of maxmemory (the volatile policies and
// noeviction spare keys without expiry, such as fences); by a restart without persistence; and by a failover to a
// replica that had not yet received them. Such a restart or failover also loses the data of the last writes. But an old
// holder may still run, and may write again.
//
// The guard does not notice writes that do not go through it.
//
// A script that fails in its middle keeps what it has written so far: Redis rolls nothing back. The
// fence stays raised.
package redisguard
