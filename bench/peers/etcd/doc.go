// Package etcd compiles the pieces of docs/migrate/etcd.md that call etcd. It is a module of its own,
// since etcd's client takes minutes to build.
package etcd
