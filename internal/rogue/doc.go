// Package rogue has replies that no Redis server sends, for tests. It has the format of replies in code of its own,
// and must not depend on the code that reads replies.
package rogue
