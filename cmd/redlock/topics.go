package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// shown returns the commands of a node that help lists.
func shown(node *kong.Node) []*kong.Node {
	var all []*kong.Node
	for _, child := range node.Children {
		if !child.Hidden {
			all = append(all, child)
		}
	}
	return all
}

// topics returns the commands that have help.
func topics() []string {
	var names []string
	for _, child := range shown(newParser().Model.Node) {
		if child.Name != "help" && child.Name != "version" {
			names = append(names, child.Name)
		}
	}
	return names
}

// listed returns "a, b or c".
func listed(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
