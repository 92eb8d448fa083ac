package embedded

import (
	"maps"
	"slices"
	"strings"
)

func subscribe(c *conn, channels []string) reply {
	said := reply{kind: several}
	for _, channel := range channels {
		if !slices.Contains(c.channels, channel) {
			c.channels = append(c.channels, channel)
			c.run.subscribers[channel] = append(c.run.subscribers[channel], c)
		}
		said.items = append(said.items, arrayOf(text("subscribe"), text(channel), number(int64(len(c.channels)))))
	}
	return said
}

func unsubscribe(c *conn, channels []string) reply {
	if len(channels) == 0 {
		if channels = slices.Clone(c.channels); len(channels) == 0 {
			return arrayOf(text("unsubscribe"), reply{}, number(0))
		}
	}
	said := reply{kind: several}
	for _, channel := range channels {
		c.leave(channel)
		said.items = append(said.items, arrayOf(text("unsubscribe"), text(channel), number(int64(len(c.channels)))))
	}
	return said
}

// leave ends the subscription of c to a channel, if it has one.
func (c *conn) leave(channel string) {
	c.channels = slices.DeleteFunc(c.channels, func(one string) bool { return one == channel })
	all := c.run.subscribers
	all[channel] = slices.DeleteFunc(all[channel], func(one *conn) bool { return one == c })
	if len(all[channel]) == 0 {
		delete(all, channel)
	}
}

// publish sends to the subscribers at once. No write here waits for its reader.
func publish(r *run, args []string) reply {
	all := r.subscribers[args[0]]
	for _, c := range all {
		c.send(arrayOf(text("message"), text(args[0]), text(args[1])))
	}
	if r.follows == nil {
		for replica := range r.replicas {
			replica.relay(args)
		}
	}
	return number(int64(len(all)))
}

// relay publishes what the master of a replica published, a moment later.
func (r *run) relay(args []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		return
	}
	r.serving.Go(func() {
		if _, alive := r.gate.pass(false); alive {
			r.data.mu.Lock()
			defer r.data.mu.Unlock()
			publish(r, args)
		}
	})
}

func pubsub(r *run, args []string) reply {
	all := r.subscribers
	switch sub, args := strings.ToUpper(args[0]), args[1:]; {
	case sub == "CHANNELS" && len(args) <= 1:
		var found []string
		for _, channel := range slices.Sorted(maps.Keys(all)) {
			if len(args) == 0 || matches(args[0], channel) {
				found = append(found, channel)
			}
		}
		return texts(found)
	case sub == "NUMSUB":
		said := arrayOf()
		for _, channel := range args {
			said.items = append(said.items, text(channel), number(int64(len(all[channel]))))
		}
		return said
	case sub == "CHANNELS":
		return wrongNumber("pubsub|" + sub)
	}
	return unknownSubcommand("PUBSUB", args[0])
}
