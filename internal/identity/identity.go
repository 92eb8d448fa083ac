// Package identity makes and reads the ids of clients and of acquisitions, and what masters are
// told of who a client is. Nothing that is promised rests on what an id says beyond being unique.
package identity

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	idBytes = 16
	idLen   = 22 // as text
)

var idText = base64.RawURLEncoding

// newID returns 128 random bits. Each is read from the system, so that two copies of a virtual
// machine never make the same one.
func newID() (id [idBytes]byte) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// NewClient returns an id for a client.
func NewClient() string {
	id := newID()
	return idText.EncodeToString(id[:])
}

// ownerTimeLen is how many bytes of an owner id are the time, in ms since 1970.
const ownerTimeLen = 6

// NewOwner returns an id for a fresh acquisition. It begins with the client's, and goes on with the
// time, so that who holds a lock, and since when, can be told at no cost for the lock. The other 80
// bits are random. Nothing rests on the time.
func NewOwner(client string) string {
	var owner [2*idLen + 1]byte
	id := newID()
	var now [8]byte
	binary.BigEndian.PutUint64(now[:], uint64(time.Now().UnixMilli()))
	copy(id[:ownerTimeLen], now[8-ownerTimeLen:])
	n := copy(owner[:], client)
	owner[n] = '.'
	idText.Encode(owner[n+1:], id[:])
	return string(owner[:])
}

// ClientOf is the client in an owner id. What was made otherwise is told as a whole.
func ClientOf(owner string) string {
	client, _, _ := strings.Cut(owner, ".")
	return client
}

// Since is when the acquisition with that owner id began, by the clock of its client. It is zero
// for an id that was made otherwise.
func Since(owner string) time.Time {
	_, text, _ := strings.Cut(owner, ".")
	id, err := idText.DecodeString(text)
	if err != nil || len(id) != idBytes {
		return time.Time{}
	}
	var ms [8]byte
	copy(ms[8-ownerTimeLen:], id)
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:])))
}

// Channel is the channel on which masters call a client.
func Channel(prefix, client string) string { return prefix + ":waits:" + client }

// Process is who a client is, as the masters have it.
type Process struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
	Name string `json:"name,omitempty"`
}

// String returns what is known, for people.
func (p Process) String() string {
	process := fmt.Sprintf("process %d on %s", p.PID, p.Host)
	if p.Name == "" {
		return process
	}
	return p.Name + ", " + process
}

// Of returns this process, with the name that the client was given, as it is stored.
func Of(name string) string {
	host, _ := os.Hostname() // "" will do
	who, err := json.Marshal(Process{Host: host, PID: os.Getpid(), Name: name})
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	return string(who)
}

// Read reads what is stored of a process; false if it is none.
func Read(stored string) (who Process, ok bool) {
	return who, json.Unmarshal([]byte(stored), &who) == nil
}
