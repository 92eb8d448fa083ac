// Package rogue has replies that no Redis server sends, for tests. It knows the form of replies. It
// must not know who reads them.
package rogue
