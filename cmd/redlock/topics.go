package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// shown are the commands of a node that help shows.
func shown(node *kong.Node) []*kong.Node {
	var all []*kong.Node
	for _, child := range node.Children {
		if !child.Hidden {
			all = append(all, child)
		}
	}
	return all
}

// topics are the commands that there is help on.
func topics() []string {
	var names []string
	for _, child := range shown(newParser().Model.Node) {
		if child.Name != "help" && child.Name != "version" {
			names = append(names, child.Name)
		}
	}
	return names
}

// listed is "a, b or c".
func listed(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
