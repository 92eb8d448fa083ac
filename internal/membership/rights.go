package membership

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// A missing right could show only when an operation is half done, or only in the night in which
// a master has to come back. So each connection for requests begins with the question which
// rights the user lacks, and so does each change of an operator.

// lacking reads the reply to that question.
func lacking(reply master.Reply) error {
	if err := reply.Err(); err != nil {
		return err
	}
	if what := reply.Text(); what != "" {
		return fmt.Errorf("%w: NOPERM for %s", script.ErrDenied, what)
	}
	return nil
}

// denied returns what the user lacks on the masters that answer.
func (g *Group) denied(ctx context.Context) (all error) {
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	var masters []int
	for i := range g.Masters {
		masters = append(masters, i)
	}
	_ = each(ctx, g, masters, func(ctx context.Context, i int) (error, error) {
		replies, err := g.Masters[i].Do(ctx, g.Rights)
		if err == nil {
			err = lacking(replies[0])
		}
		return err, nil
	}, func(i int, err error) (enough bool) {
		if errors.Is(err, script.ErrDenied) {
			all = errors.Join(all, fmt.Errorf("%s: %w", g.names[i], err))
		}
		return false
	}) // what does not answer may be what is to be replaced
	return all
}
