package fault

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Masters is a set of masters, by their numbers from 0 to 63.
type Masters uint64

// MastersOf returns the set of the masters with these numbers.
func MastersOf(numbers ...int) Masters {
	var m Masters
	for _, n := range numbers {
		m |= 1 << n
	}
	return m
}

// Count returns the size of the set.
func (m Masters) Count() int { return bits.OnesCount64(uint64(m)) }

// Numbers returns the numbers of the masters in the set, in order.
func (m Masters) Numbers() []int {
	var all []int
	for n := range 64 {
		if m&(1<<n) != 0 {
			all = append(all, n)
		}
	}
	return all
}

// String returns the masters' names, such as m0+m3.
func (m Masters) String() string {
	var names []string
	for _, n := range m.Numbers() {
		names = append(names, fmt.Sprintf("m%d", n))
	}
	return strings.Join(names, "+")
}

// ParseMasters parses the result of String.
func ParseMasters(text string) (Masters, error) {
	var all Masters
	for name := range strings.SplitSeq(text, "+") {
		number, named := strings.CutPrefix(name, "m")
		n, err := strconv.Atoi(number)
		if !named || err != nil || n < 0 || n > 63 {
			return 0, fmt.Errorf("%q is no master, such as m0", name)
		}
		all |= 1 << n
	}
	return all, nil
}

// Clients is a set of clients: their sorted names with a + between them, or All.
type Clients string

// All means all clients that exist when the fault begins.
const All Clients = "*"

// ClientsOf returns the set of these names. The names must consist of letters, digits, - and _.
func ClientsOf(names ...string) Clients {
	names = slices.Clone(names)
	slices.Sort(names)
	return Clients(strings.Join(slices.Compact(names), "+"))
}

// Names returns the names in the set. all are the names of all clients.
func (c Clients) Names(all []string) []string {
	if c == All {
		return all
	}
	return strings.Split(string(c), "+")
}

// Has reports whether the client is in the set.
func (c Clients) Has(client string) bool {
	return c == All || slices.Contains(strings.Split(string(c), "+"), client)
}

func parseClients(text string) (Clients, error) {
	if Clients(text) == All {
		return All, nil
	}
	names := strings.Split(text, "+")
	for _, name := range names {
		if name == "" || strings.ContainsFunc(name, notInName) {
			return "", fmt.Errorf("%q is no client", name)
		}
	}
	return ClientsOf(names...), nil
}

func notInName(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
}
