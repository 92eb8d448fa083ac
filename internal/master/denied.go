package master

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/script"
)

// refusals are what servers say of a command that they do not have, or that the user may not run.
// They are in lower case. The first ones tell which command it is.
var refusals = []string{
	"noperm ",
	"acl failure in script", // Redis since 7.2, and Valkey
	"unknown command",
	"unknown subcommand",
	"unknown redis command", // in a script
	"the user executing the script",
	"not allowed from script",
}

// unnamed are those that do not tell which command it is.
var unnamed = refusals[len(refusals)-3:]

// Denied reports that err is a server's, which says so.
func Denied(err error) bool { return errors.Is(denied(err), script.ErrDenied) }

// denied returns err, as one that is script.ErrDenied if a server replied that a command cannot run
// there. Whoever has to know before something is half done does not rely on these words: see
// scripts/rights.lua.
func denied(err error) error {
	if !IsReply(err) {
		return err
	}
	said := strings.ToLower(err.Error())
	switch in := func(words string) bool { return strings.Contains(said, words) }; {
	case slices.ContainsFunc(unnamed, in):
		return fmt.Errorf("%w (ACL LOG on the master may say which): %w", script.ErrDenied, err)
	case slices.ContainsFunc(refusals, in):
		return fmt.Errorf("%w: %w", script.ErrDenied, err)
	}
	return err
}
