package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// completionConfig is redlock completion.
type completionConfig struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is the long part of the help.
func (*completionConfig) Help() string {
	return `Load it in your shell:

  bash   source <(redlock completion bash)    in ~/.bashrc
  zsh    source <(redlock completion zsh)     in ~/.zshrc, after compinit
  fish   redlock completion fish | source     in ~/.config/fish/config.fish`
}

func (*completionConfig) check() error { return nil }

func (cfg *completionConfig) run() int {
	app := newParser().Model.Node
	switch cfg.Shell {
	case "bash":
		fmt.Fprint(stdout, bashCompletion(app))
	case "zsh": // it runs bash's
		fmt.Fprint(stdout, "autoload -U +X bashcompinit && bashcompinit\n"+bashCompletion(app))
	case "fish":
		fmt.Fprint(stdout, fishCompletion(app))
	}
	return exitOK
}

// place is a command with what may follow it.
type place struct {
	node  *kong.Node
	path  string   // "members add"; "" before any command
	words []string // that may follow, besides flags
	flags []*kong.Flag
	runs  bool // another command follows, with its own arguments
}

// places are those of all commands that are shown.
func places(node *kong.Node, path string) []place {
	here := place{node: node, path: path}
	for _, group := range node.AllFlags(true) {
		here.flags = append(here.flags, group...)
	}
	all := []place{}
	for _, child := range shown(node) {
		here.words = append(here.words, child.Name)
		all = append(all, places(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	for _, arg := range node.Positional {
		if arg.Enum != "" {
			here.words = append(here.words, strings.Split(arg.Enum, ",")...)
		}
		here.runs = here.runs || arg.Passthrough
	}
	if path == "help" {
		here.words = append(here.words, topics()...)
	}
	return append([]place{here}, all...)
}

// names are the ways to write a flag.
func names(flag *kong.Flag) []string {
	all := []string{"--" + flag.Name}
	if flag.Short != 0 {
		all = append(all, "-"+string(flag.Short))
	}
	return all
}

// isFile reports that a flag's value is a file.
func isFile(flag *kong.Flag) bool { return flag.PlaceHolder == "FILE" }

// bashCompletion is a function that goes over the words before the cursor to find the command, and
// whether a flag waits for its value. bash splits --flag=value at the "=", and zsh does not.
func bashCompletion(app *kong.Node) string {
	var commands, files, values, words, runs []string
	seen := map[string]bool{}
	for _, p := range places(app, "") {
		if p.path != "" {
			commands = append(commands, fmt.Sprintf("%q", p.path))
		}
		if p.runs {
			runs = append(runs, p.path)
		}
		follow := p.words
		for _, flag := range p.flags {
			for _, name := range names(flag) {
				follow = append(follow, name)
				if !seen[name] && !flag.IsBool() {
					seen[name] = true
					if isFile(flag) {
						files = append(files, name)
					} else {
						values = append(values, name)
					}
				}
			}
		}
		words = append(words, fmt.Sprintf("    %q) words=%q ;;", p.path, strings.Join(follow, " ")))
	}
	return fmt.Sprintf(`_redlock() {
  local cur="${COMP_WORDS[COMP_CWORD]}" at= flag= word= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    if [[ -n "$flag" ]]; then
      [[ "$word" == "=" ]] || flag=
      continue
    fi
    case "$word" in
    %[1]s) flag="$word"; continue ;;
    --) ;;
    -* | =) continue ;;
    esac
    case "${at:+$at }$word" in
    %[2]s) at="${at:+$at }$word"; continue ;;
    esac
    case "$at" in
    %[3]s) _redlock_other "$i"; return ;;
    esac
  done
  case "$cur" in
  =) cur= ;;
  --*=*) flag="${cur%%%%=*}" ;;
  esac
  case "$flag" in
  %[4]s) _redlock_files "$cur"; return ;;
  -*) return ;;
  esac
  case "$at" in
%[5]s
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  case "$at" in
  %[3]s) [[ "$cur" == -* ]] || COMPREPLY+=($(compgen -c -- "$cur")) ;;
  esac
}

# The value of a flag, which may be written as --flag=value.
_redlock_files() {
  local before= IFS=$'\n'
  case "$1" in
  --*=*) before="${1%%%%=*}=" ;;
  esac
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -P "$before" -f -- "${1#"$before"}"))
}

# What redlock runs, which begins at the word $1, or after it if that is "--".
_redlock_other() {
  local from=$1 IFS=$'\n'
  [[ "${COMP_WORDS[from]}" == -- ]] && from=$((from + 1))
  if [[ "$from" -ge "$COMP_CWORD" ]]; then
    COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
  elif type _command_offset >/dev/null 2>&1; then
    _command_offset "$from"
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
  fi
}

complete -F _redlock redlock
`, strings.Join(append(values, files...), " | "), strings.Join(commands, " | "), strings.Join(runs, " | "),
		strings.Join(files, " | "), strings.Join(words, "\n"))
}

// fishCompletion is a line for each command and each flag.
func fishCompletion(app *kong.Node) string {
	var b strings.Builder
	b.WriteString("complete -c redlock -f\n")
	quote := func(text string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
	}
	for _, p := range places(app, "") {
		when := fishCondition(p)
		for _, child := range shown(p.node) {
			fmt.Fprintf(&b, "complete -c redlock -n %s -a %s -d %s\n", quote(when), child.Name, quote(child.Help))
		}
		if len(shown(p.node)) == 0 && len(p.words) > 0 {
			fmt.Fprintf(&b, "complete -c redlock -n %s -a %s\n", quote(when), quote(strings.Join(p.words, " ")))
		}
		if p.runs { // what follows the "-" are the flags that have a value
			var values []string
			for _, flag := range p.flags {
				if !flag.IsBool() {
					values = append(values, names(flag)...)
				}
			}
			fmt.Fprintf(&b, "complete -c redlock -n %s -a '(__fish_complete_subcommand --fcs-skip=2 - %s)'\n", quote(when), strings.Join(values, " "))
		}
		for _, flag := range p.flags {
			line := "complete -c redlock -n " + quote(when) + " -l " + flag.Name
			if flag.Short != 0 {
				line += " -s " + string(flag.Short)
			}
			if isFile(flag) {
				line += " -r -F"
			} else if !flag.IsBool() {
				line += " -x"
			}
			sentence, _, _ := strings.Cut(flag.Help, ". ")
			fmt.Fprintf(&b, "%s -d %s\n", line, quote(strings.TrimSuffix(cmp.Or(sentence, flag.Name), ".")))
		}
	}
	return b.String()
}

// fishCondition holds where the words before the cursor are those of the place.
func fishCondition(p place) string {
	var seen []string
	for word := range strings.FieldsSeq(p.path) {
		seen = append(seen, "__fish_seen_subcommand_from "+word)
	}
	if next := shown(p.node); len(next) > 0 {
		var all []string
		for _, child := range next {
			all = append(all, child.Name)
		}
		seen = append(seen, "not __fish_seen_subcommand_from "+strings.Join(all, " "))
	}
	return strings.Join(seen, "; and ")
}
