package redlocktest

import (
	"time"

	"github.com/redlock-go/redlock/internal/limits"
)

// DefaultMasters is how many masters a deployment has.
const DefaultMasters = 5

// Option configures a deployment.
type Option func(*settings)

type settings struct {
	masters int
	prefix  string
	maxTTL  time.Duration
}

// Masters sets how many masters there are. Default DefaultMasters; 1 to 31.
func Masters(n int) Option { return func(s *settings) { s.masters = n } }

// Prefix sets redlock.WithPrefix for the deployment and its clients. Default "redlock".
// A program that opens its own client must use the same prefix.
func Prefix(prefix string) Option { return func(s *settings) { s.prefix = prefix } }

// MaxTTL founds the deployment with this max ttl; see redlock.WithMaxTTL. The default is one minute. Programs with
// longer ttls need a longer max ttl. A shorter max ttl makes the quarantine after Wipe shorter.
func MaxTTL(d time.Duration) Option { return func(s *settings) { s.maxTTL = d } }

func defaultSettings() settings {
	return settings{masters: DefaultMasters, prefix: limits.DefaultPrefix, maxTTL: limits.DefaultMaxTTL}
}
