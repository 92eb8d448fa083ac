package master

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/script"
)

// denied returns err, as one that is script.ErrDenied if a server replied it for want of a
// right.
func denied(err error) error {
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		return fmt.Errorf("%w: %w", script.ErrDenied, err)
	case IsReply(err) && strings.Contains(err.Error(), "The user executing the script"): // Redis before 7.2
		return fmt.Errorf("%w: NOPERM, ACL LOG on the master says for what: %w", script.ErrDenied, err)
	}
	return err
}
