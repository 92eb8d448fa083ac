package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionConfig holds the arguments of redlock completion.
type completionConfig struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (*completionConfig) check() error { return nil }

// completeCommand is the hidden command that the scripts run: it prints the words that may follow a command line.
const completeCommand = "__complete"

// The shell scripts. Where redlock prints no word, the shell completes files.
const (
	bashCompletion = `_redlock() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$(redlock __complete "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}")" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _redlock redlock
`
	zshCompletion  = "autoload -U +X bashcompinit && bashcompinit\n" + bashCompletion
	fishCompletion = "complete -c redlock -a '(redlock __complete (commandline -opc)[2..])'\n"
)

func (cfg *completionConfig) run() int {
	fmt.Fprint(stdout, map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[cfg.Shell])
	return exitOK
}

// candidates returns the commands and flags that may follow the words of a command line. It returns none
// after a flag that needs a value, and none within COMMAND of redlock run.
func candidates(node *kong.Node, words []string) (next []string) {
	if len(words) > 0 {
		if _, command := cutCommand(node, words); len(command) > 0 || slices.Contains(words, "--") {
			return nil
		}
	}
	waits := false // a flag needs its value
	for _, word := range words {
		child := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == word })
		switch {
		case waits:
			waits = false
		case strings.HasPrefix(word, "-"):
			waits = slices.ContainsFunc(slices.Concat(node.AllFlags(true)...), func(f *kong.Flag) bool { return !f.IsBool() && slices.Contains(names(f), word) })
		case child >= 0:
			node = node.Children[child]
		}
	}
	if waits {
		return nil
	}
	for _, child := range shown(node) {
		next = append(next, child.Name)
	}
	for _, arg := range node.Positional {
		if arg.Enum != "" {
			next = append(next, strings.Split(arg.Enum, ",")...)
		}
	}
	for _, flag := range slices.Concat(node.AllFlags(true)...) {
		next = append(next, names(flag)...)
	}
	return next
}

// names returns the ways to write a flag.
func names(flag *kong.Flag) []string {
	all := []string{"--" + flag.Name}
	if flag.Short != 0 {
		all = append(all, "-"+string(flag.Short))
	}
	return all
}
