package harness

import (
	"context"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
)

// Members returns the members, as c's masters report them.
func Members(t *testing.T, c *redlock.Client) admin.Membership {
	t.Helper()
	m, err := admin.Members(context.Background(), c)
	Must(t, err)
	return m
}

// Shown returns these locks as an inspection would show them. It returns each lock twice: as held, and as lingering.
func Shown(locks ...*redlock.Lock) (all []acquire.Acquisition) {
	for _, l := range locks {
		id := Hold(l).ID
		all = append(all, acquire.Acquisition{Owner: id, Stored: id}, acquire.Acquisition{Owner: id, Stored: "- " + id})
	}
	return all
}

// MustForce takes the name from the holders of these locks, by force.
func MustForce(t *testing.T, c *redlock.Client, name string, from ...*redlock.Lock) fence.Token {
	t.Helper()
	token, err := Inside(c).ForceUnlock(context.Background(), name, Shown(from...))
	Must(t, err)
	return token
}
