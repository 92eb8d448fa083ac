package redisguard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
)

// Guard guards data of one Redis server or cluster. It is safe for concurrent use, and has no state
// of its own: any number of guards, in any number of processes, share the fences of one server.
//
// All methods return a *fence.StaleError for a stale token, and an error that is
// fence.ErrInvalid for invalid input. Any other error comes from go-redis unchanged, and does
// not show whether the script ran.
type Guard struct {
	client redis.UniversalClient
}

var _ fence.Guard = (*Guard)(nil)

// New returns a guard for the data behind client. It refuses a Ring: while one of its servers is
// away, a Ring sends that server's keys to another server, which lacks their fences.
//
// A client with retries on, which is go-redis's default, may run a script again when its reply was
// lost. That is safe for the fence: neither request gets past a newer token. But a request that was
// delayed for long, for example by a server that hung, may be executed after a later write with the
// same token, and undo that write. If a script of your own must not run twice, switch retries off
// (set MaxRetries to -1). After a write whose outcome is unknown, end the hold or check the data.
func New(client redis.UniversalClient) (*Guard, error) {
	if client == nil || reflect.ValueOf(client).Kind() == reflect.Pointer && reflect.ValueOf(client).IsNil() {
		return nil, fmt.Errorf("%w: client is nil: a redis.Client or redis.ClusterClient is needed", fence.ErrInvalid)
	}
	if _, ring := client.(*redis.Ring); ring {
		return nil, fmt.Errorf("%w: client is a redis.Ring: it moves keys away from their fences when a server is away", fence.ErrInvalid)
	}
	return &Guard{client: client}, nil
}

// Claim raises the fence of resource to token; see fence.Guard.
func (g *Guard) Claim(ctx context.Context, resource string, token fence.Token) error {
	return g.Run(ctx, resource, token, claimScript, nil).Err()
}

// Run runs script if token is not stale, and returns its reply; a nil reply is redis.Nil, as usual
// with go-redis. The script gets keys and args as KEYS and ARGV. keys must have all keys that the
// script uses, and must not have a fence key of any resource.
//
// If the server lacks the script, Run loads it again.
func (g *Guard) Run(ctx context.Context, resource string, token fence.Token, script *Script, keys []string, args ...any) *redis.Cmd {
	if ctx == nil {
		panic("redisguard: nil context")
	}
	if err := validate(resource, token, script, keys); err != nil {
		return failed(ctx, err)
	}
	scriptKeys := append([]string{fencePrefix + resource + fenceSuffix}, keys...)
	scriptArgs := append([]any{token.String()}, args...)
	reply := script.script.Run(ctx, g.client, scriptKeys, scriptArgs...)

	if highest, stale, err := parseFenced(reply.Err()); err != nil {
		reply.SetErr(err)
	} else if stale {
		reply.SetErr(&fence.StaleError{Resource: resource, Token: token, Highest: highest})
	}
	return reply
}

// The parts of a fence key before and after its resource.
const fencePrefix, fenceSuffix = "{", "}:fence"

// fenced returns the resource whose fence is at key. ok is false if key is not a fence key.
func fenced(key string) (resource string, ok bool) {
	resource, opened := strings.CutPrefix(key, fencePrefix)
	resource, closed := strings.CutSuffix(resource, fenceSuffix)
	return resource, opened && closed && resource != "" && !strings.ContainsAny(resource, braces)
}

// A resource with braces is refused, because the braces would change the hash tag of its fence key.
const braces = "{}"

func validate(resource string, token fence.Token, script *Script, keys []string) error {
	if err := fence.Validate(resource, token); err != nil {
		return err
	}
	if strings.ContainsAny(resource, braces) {
		return fmt.Errorf("%w: resource %q has braces: they would change its hash tag", fence.ErrInvalid, resource)
	}
	if script == nil {
		return fmt.Errorf("%w: script is nil: use Claim to raise the fence alone", fence.ErrInvalid)
	}
	for _, key := range keys {
		if key == "" {
			return fmt.Errorf("%w: a key is empty: it must name what is written", fence.ErrInvalid)
		}
		if of, ok := fenced(key); ok {
			return fmt.Errorf("%w: key %q is the fence of resource %q: only the guard may write it", fence.ErrInvalid, key, of)
		}
	}
	return nil
}

// parseFenced returns the highest token and true if err is the error FENCED of guard.lua.
func parseFenced(err error) (highest fence.Token, stale bool, _ error) {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return 0, false, nil
	}
	text, stale := strings.CutPrefix(reply.Error(), "FENCED ")
	if !stale {
		return 0, false, nil
	}
	highest, err = fence.Parse(text)
	if err != nil {
		return 0, false, fmt.Errorf("redisguard: reply %q: %w", reply, err)
	}
	return highest, true, nil
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
