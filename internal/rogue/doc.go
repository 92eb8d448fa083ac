// Package rogue has replies that no Redis server sends, for tests. It formats replies with its own code, and must
// not depend on the code that reads replies.
package rogue
