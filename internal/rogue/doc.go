// Package rogue has replies that no Redis server sends, for tests. It knows the format of replies. It
// must not depend on their readers.
package rogue
