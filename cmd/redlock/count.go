package main

import "fmt"

// counted returns a number with its noun: "1 kill", "2 kills".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
