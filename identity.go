package redlock

import (
	"context"
	"fmt"

	"github.com/redlock-go/redlock/internal/identity"
)

// maxProgramName is the length of the longest name that WithName accepts, in bytes.
const maxProgramName = 256

func validateProgramName(name string) error {
	if len(name) <= maxProgramName {
		return nil
	}
	return &OptionError{"client's name", fmt.Sprintf("of %d bytes", len(name)), fmt.Sprintf("must be at most %d bytes", maxProgramName)}
}

// SetName changes the name that WithName set, and sends the new name to the masters in the
// background.
//
// Errors: ErrBadOption; ErrClosed.
func (c *Client) SetName(name string) error {
	c.check(context.Background())
	if err := validateProgramName(name); err != nil {
		return err
	}
	return c.announcer.Rename(identity.Of(name))
}
