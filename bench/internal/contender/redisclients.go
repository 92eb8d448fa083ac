package contender

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

// redisClients has one go-redis client for each master that a contender uses. The clients have default options,
// except that they do not send their name and version.
type redisClients []*redis.Client

func dialRedis(urls []string) (redisClients, error) {
	var clients redisClients
	for _, url := range urls {
		o, err := redis.ParseURL(url)
		if err != nil {
			return nil, errors.Join(err, clients.Close())
		}
		o.DisableIdentity = true
		clients = append(clients, redis.NewClient(o))
	}
	return clients, nil
}

func (c redisClients) Close() error {
	var errs []error
	for _, client := range c {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}
