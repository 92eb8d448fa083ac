package master

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/script"
)

// refusals are parts of servers' errors, in lower case, for a command that the server does not
// have, or that the user may not run. Errors with one of the first four name the command.
var refusals = []string{
	"noperm ",
	"acl failure in script", // Redis since 7.2, and Valkey
	"unknown command",
	"unknown subcommand",
	"unknown redis command", // in a script
	"the user executing the script",
	"not allowed from script",
}

// unnamed are the refusals that do not name the command.
var unnamed = refusals[len(refusals)-3:]

// Denied reports whether err is a server's refusal to run a command at all.
func Denied(err error) bool { return errors.Is(denied(err), script.ErrDenied) }

// denied returns err, wrapped as script.ErrDenied if a server replied that a command cannot run
// there. Code that needs a certain answer before it changes anything uses scripts/rights.lua
// instead.
func denied(err error) error {
	if !IsReply(err) {
		return err
	}
	text := strings.ToLower(err.Error())
	switch in := func(words string) bool { return strings.Contains(text, words) }; {
	case slices.ContainsFunc(unnamed, in):
		return fmt.Errorf("%w (ACL LOG on the master may name it): %w", script.ErrDenied, err)
	case slices.ContainsFunc(refusals, in):
		return fmt.Errorf("%w: %w", script.ErrDenied, err)
	}
	return err
}
