package master

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/script"
)

// refusals are texts in servers' errors, in lower case, for a command that the server does not have,
// or that the user may not run. An error with one of the first four texts names the command.
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

// denied returns err. If err is a server's reply that a command cannot run there, denied wraps err as script.ErrDenied.
// It recognizes such replies only by their texts. For a sure answer, run scripts/rights.lua.
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
