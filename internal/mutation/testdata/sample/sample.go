// Package sample has what mutation's test changes.
package sample

import clock "time"

func greater(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func words(list []string) (n int) {
	for _, word := range list {
		if word == "" {
			continue
		}
		n++
	}
	return n
}

func inside(at, from, to int) bool {
	return from <= at &&
		at < to
}

func rest(n int) int {
	for n > 0 {
		clock.Sleep(clock.Millisecond)
		n--
	}
	return n
}

func doubled(d clock.Duration) clock.Duration {
	return d + d
}

func forever(next func() int) int {
	for {
		if next() == 0 {
			continue // a function that must return cannot leave its last loop
		}
		return 1
	}
}

func nobodyCalls(a int) bool {
	return a != 1
}
