// Package rogue has replies that no Redis server sends, for tests. It knows the format of replies. It must not depend
// on the code that reads them.
package rogue
