package cluster

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// chunk is how many keys are asked for and removed at a time.
const chunk = 1000

func (m *master) Evict(percent float64) error {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	keys, err := m.keys(ctx)
	if err != nil {
		return fmt.Errorf("cluster: keys of %s: %w", m.name, err)
	}
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:int(math.Round(float64(len(keys))*percent/100))]
	for len(keys) > 0 {
		n := min(len(keys), chunk)
		if _, err := m.Do(ctx, append([]any{"del"}, keys[:n]...)...); err != nil {
			return fmt.Errorf("cluster: del to %s: %w", m.name, err)
		}
		keys = keys[n:]
	}
	return nil
}

// crowding is how many keys of crowdSize Crowd writes at most.
const (
	crowding  = 1000
	crowdSize = 16 << 10
)

func (m *master) Crowd() error {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	value, del := strings.Repeat("x", crowdSize), []any{"del"}
	for i := range crowding {
		key := fmt.Sprint("crowd:", i)
		_, err := m.Do(ctx, "set", key, value)
		if err != nil && !strings.HasPrefix(err.Error(), "OOM") {
			return fmt.Errorf("cluster: set to %s: %w", m.name, err)
		}
		if err != nil {
			break // nothing that expires is left
		}
		del = append(del, key)
	}
	if _, err := m.Do(ctx, del...); err != nil {
		return fmt.Errorf("cluster: del to %s: %w", m.name, err)
	}
	return nil
}

// keys returns all keys that are there the whole time.
func (m *master) keys(ctx context.Context) (keys []any, err error) {
	seen := map[any]bool{} // a scan may tell a key twice
	for cursor := any("0"); ; {
		reply, err := m.Do(ctx, "scan", cursor, "count", chunk)
		if err != nil {
			return nil, err
		}
		page := reply.([]any)
		for _, key := range page[1].([]any) {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
		if cursor = page[0]; cursor == "0" {
			return keys, nil
		}
	}
}
