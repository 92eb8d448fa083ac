package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// endless is a script that writes nothing, so that SCRIPT KILL can end it.
const endless = "while true do end"

// Values of lua-time-limit in ms: the value during Occupy, and Redis's default.
const (
	impatient = 50
	patient   = 5000
)

func (m *master) Occupy() (release func() error, err error) {
	if err := m.order("config", "set", "lua-time-limit", impatient); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// The error is expected: the script was killed, or the client's timeout has passed.
		_, _ = m.Do(context.Background(), "eval", endless, 0)
	}()
	return func() error {
		err := m.endScript()
		<-ended
		return errors.Join(err, m.order("config", "set", "lua-time-limit", patient))
	}, nil
}

// endScript ends the script that keeps the server busy.
func (m *master) endScript() error {
	deadline := time.Now().Add(orderTimeout)
	for {
		err := m.order("script", "kill")
		if err == nil || !strings.Contains(err.Error(), "NOTBUSY") || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond) // the script has not begun yet
	}
}

// orderTimeout bounds a command to a server that should answer.
const orderTimeout = 5 * time.Second

func (m *master) order(args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	if _, err := m.Do(ctx, args...); err != nil {
		return fmt.Errorf("cluster: %s to %s: %w", args[0], m.name, err)
	}
	return nil
}

// Crowd writes at most crowding keys, each with crowdSize bytes.
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
			break // no key with an expiry is left
		}
		del = append(del, key)
	}
	if _, err := m.Do(ctx, del...); err != nil {
		return fmt.Errorf("cluster: del to %s: %w", m.name, err)
	}
	return nil
}
