package membership

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// Each connection for requests, and each operator's change, begins with a check of the rights.
// Otherwise a missing right could show up in the middle of an operation, or months later, when a
// master has to come back.

// rights returns a request. Its reply has the names of the scripts' commands that cannot run.
func (g *Group) rights() master.Command {
	return master.Text(append([]any{"eval", script.RightsSource}, g.rightsOn()...)...)
}

func (g *Group) rightsOn() []any { return []any{2, g.key, script.KeysOf(g.Prefix, "", "").Lock} }

// allRights returns requests that check every command that all locks need: the request of rights(), and
// SCRIPT LOAD and EVALSHA. (For a connection, rights() is enough: a connection uses the other two commands anyway.)
func (g *Group) allRights() []master.Command {
	return []master.Command{
		g.rights(),
		master.Text("script", "load", script.RightsSource),
		master.Text(append([]any{"evalsha", script.RightsSHA}, g.rightsOn()...)...),
	}
}

// lacking returns an error with the missing rights, or nil. The caller has sent the requests of rights()
// or allRights(), and passes the replies.
func lacking(replies []master.Reply) error {
	var all []string
	for _, reply := range replies {
		switch err := reply.Err(); {
		case errors.Is(err, script.ErrDenied):
			all = append(all, strings.TrimPrefix(err.Error(), script.ErrDenied.Error()+": "))
		case err != nil:
			return err
		}
	}
	if what := replies[0].Text(); what != "" {
		all = append(all, "NOPERM, or no such command: "+what)
	}
	if all == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", script.ErrDenied, strings.Join(all, "; "))
}

// denied returns an error with the rights that the user lacks on the masters that answer, or nil.
func (g *Group) denied(ctx context.Context) (all error) {
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	var masters []int
	for i := range g.Masters {
		masters = append(masters, i)
	}
	_ = each(ctx, g, masters, func(ctx context.Context, i int) (error, error) {
		replies, err := g.Masters[i].Do(ctx, g.allRights()...)
		if err == nil {
			err = lacking(replies)
		}
		return err, nil
	}, func(i int, err error) (enough bool) {
		if errors.Is(err, script.ErrDenied) {
			all = printable.Join(all, fmt.Errorf("%s: %w", g.Masters[i].Name, err))
		}
		return false
	}) // a silent master is no error: it may be the master that the operator replaces
	return all
}
