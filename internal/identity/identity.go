// Package identity makes and reads the ids of clients and of acquisitions, and the data that a
// client announces to masters. The locks depend only on the uniqueness of the ids.
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

// newID returns 128 random bits. Each call reads them from the system, so two copies of a virtual machine
// never make the same id.
func newID() (id [idBytes]byte) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// NewClient returns an id for a client.
func NewClient() string {
	id := newID()
	return idText.EncodeToString(id[:])
}

// ownerTimeLen is the length of the time in an owner id, in bytes. The time is in ms since 1970.
const ownerTimeLen = 6

// NewOwner returns an id for a fresh acquisition: the client's id, the time, and 80 random bits. From
// the client's id and the time, admin.Inspect can show the holder and the age of the hold. Nothing else
// depends on the time.
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

// ClientOf returns the client's id in an owner id. If owner has no dot, ClientOf returns owner.
func ClientOf(owner string) string {
	client, _, _ := strings.Cut(owner, ".")
	return client
}

// Since returns when the acquisition with this owner id began, by the client's clock. It returns the
// zero time for an id that NewOwner did not make.
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

// Channel returns the channel on which masters send notices to a client.
func Channel(prefix, client string) string { return prefix + ":waits:" + client }

// Process has the data that a client announces to masters.
type Process struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
	Name string `json:"name,omitempty"`
}

// String returns the data as a text, for logs.
func (p Process) String() string {
	process := fmt.Sprintf("process %d on %s", p.PID, p.Host)
	if p.Name == "" {
		return process
	}
	return p.Name + ", " + process
}

// Of returns the data of this process, with the client's name, in the form that masters store.
func Of(name string) string {
	host, _ := os.Hostname() // "" if unknown
	process, err := json.Marshal(Process{Host: host, PID: os.Getpid(), Name: name})
	if err != nil {
		panic(err) // all fields have a JSON form
	}
	return string(process)
}

// Read parses data in the form that masters store. ok is false if stored is not the data of a process.
func Read(stored string) (process Process, ok bool) {
	return process, json.Unmarshal([]byte(stored), &process) == nil
}
