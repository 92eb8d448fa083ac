package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// Names reads the keys of a master in at most scanSteps steps, each of about scanStep keys. So the master serves
	// others between the steps, and Names stops early if there are millions of keys. Even if all names have the
	// greatest length, the reply to a step is only half as long as a client accepts.
	scanStep  = 500
	scanSteps = 200
)

// NameList lists some of the taken names, as one master has them.
type NameList struct {
	Master string   // its address
	Names  []string // sorted
	More   bool     // whether there may be others
}

// Names lists taken names: held, read, kept for a waiter, or lingering. most is the largest number
// of names to list. Names asks one voting master, and reads at most 100 000 keys, in small steps,
// so that the master can serve others in between.
//
// The list is for people: a name is missing if this master did not grant it, and a name may be
// listed although its holder has lost it. Inspect returns the state of a name.
//
// Errors: bad input; ctx's error and cause; redlock.ErrClosed; a *redlock.QuorumError with the
// reasons why no master answered.
func Names(ctx context.Context, client *redlock.Client, most int) (NameList, error) {
	c := redlock.Inside(core.Key{}).Client(ctx, client)
	if most < 1 {
		return NameList{}, &redlock.OptionError{Field: "most", Value: most, Rule: "must be at least 1"}
	}
	leave, err := c.Enter(ctx)
	if err != nil {
		return NameList{}, err
	}
	defer leave()
	if err := c.MayAsk(ctx, opNames, noName); err != nil {
		return NameList{}, err
	}
	v := c.Members.View()
	e := &redlock.QuorumError{Op: opNames, Reason: redlock.ErrNoQuorum, Need: 1, Lacks: v.Lacks}
	for i, m := range c.Masters {
		err := v.Out[i]
		if err == nil {
			var list NameList
			if list, err = namesOn(ctx, c, i, most); err == nil {
				return list, nil
			}
		}
		if ended := c.Ended(ctx); ended != nil {
			return NameList{}, ended
		}
		e.Votes = append(e.Votes, voteOf(MasterView{Master: m.Name, Err: printable.Error(err)}))
	}
	return NameList{}, e
}

func namesOn(ctx context.Context, c *core.Client, index, most int) (NameList, error) {
	m := c.Masters[index]
	list := NameList{Master: m.Name}
	pattern := unglob.Replace(c.Prefix) + ":{*}:lock:*"
	cursor := uint64(0)
	for range scanSteps {
		keys, next, err := m.Scan(ctx, cursor, pattern, scanStep)
		if err != nil {
			return NameList{}, fmt.Errorf("its keys cannot be listed: %w", err)
		}
		for _, key := range keys {
			if name, ok := script.NameOf(key, c.Prefix, limits.MaxNameLen); ok {
				list.Names = append(list.Names, name)
			}
		}
		slices.Sort(list.Names)
		list.Names = slices.Compact(list.Names) // SCAN may return a key twice
		if cursor = next; cursor == 0 || len(list.Names) >= most {
			break
		}
	}
	list.More = cursor != 0 || len(list.Names) > most
	list.Names = list.Names[:min(most, len(list.Names))]
	return list, nil
}

// unglob escapes a text for use in a pattern.
var unglob = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `\`, `\\`)
