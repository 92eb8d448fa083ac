package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/redlock-go/redlock/internal/limits"
)

// arguments is the grammar of the command line. Usage, flags and help are made from it.
type arguments struct {
	Run        runConfig        `cmd:"" help:"Run a command while holding a lock."`
	Agent      agentConfig      `cmd:"" help:"Hold locks for programs in other languages."`
	Init       initConfig       `cmd:"" help:"Make a deployment of new masters, once."`
	Members    membersConfig    `cmd:"" help:"Show the members of a deployment, and change them."`
	Status     statusConfig     `cmd:"" help:"Show the holder of a lock, and the members."`
	Verify     verifyConfig     `cmd:"" help:"Check whether the hold with a fencing token is valid."`
	Unlock     unlockConfig     `cmd:"" help:"Take a lock from its holder."`
	Doctor     doctorConfig     `cmd:"" help:"Find faults of the masters, and show remedies."`
	Completion completionConfig `cmd:"" help:"Print a completion script for a shell."`
	Version    versionConfig    `cmd:"" help:"Print version and build information."`
	Help       helpConfig       `cmd:"" help:"Show all flags and exit statuses of a command."`

	VersionFlag kong.VersionFlag `name:"version" hidden:""`
}

const description = `redlock holds a lock on a quorum of independent Redis masters.

  redlock init --masters URL,URL,... --yes
  redlock run --masters URL,URL,... --name NAME -- COMMAND ...
  redlock agent --masters URL,URL,... --socket FILE
  redlock members --masters URL,URL,...
  redlock status --masters URL,URL,... --name NAME
  redlock doctor --masters URL,URL,...`

// helpTexts has the long help of each command, in files such as help/members-add.txt. The exit statuses that these
// texts list are in exit.go.
//
//go:embed help/*.txt
var helpTexts embed.FS

// subcommand is a parsed command.
type subcommand interface {
	check() error // reports all faults of the arguments
	run() int     // returns the exit status
}

func newParser() *kong.Kong {
	all := &arguments{}
	all.Members.join()
	parser := kong.Must(all,
		kong.Name("redlock"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoAppDescFormat: true, WrapUpperBound: 80}),
		kong.Writers(stdout, os.Stderr), kong.Exit(func(status int) { os.Exit(stdout.status(status)) }), // for help and --version
		kong.KindMapper(reflect.String, kong.MapperFunc(verbatim)), runVars(),
		kong.Vars{
			"prefix": limits.DefaultPrefix, "max_ttl": limits.DefaultMaxTTL.String(), "ttl": limits.DefaultTTL.String(),
			"grace": defaultGrace.String(), "drain": defaultDrain.String(), "version": version(),
		})
	addHelp(parser.Model.Node, "help/")
	return parser
}

// addHelp sets the long help of the commands below node.
func addHelp(node *kong.Node, path string) {
	for _, child := range node.Children {
		text, _ := helpTexts.ReadFile(path + child.Name + ".txt") // some commands have no long help
		child.Detail = string(text)
		addHelp(child, path+child.Name+"-")
	}
}

// verbatim decodes a string without changing a byte. Kong's own mapper passes strings through JSON, which
// replaces bytes that are not UTF-8 in names, files and passwords.
func verbatim(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	target.SetString(token.Value.(string))
	return nil
}

// cutCommand splits the arguments of redlock run before COMMAND. COMMAND begins after "--", or at the first
// argument that is neither a flag nor the value of a flag. The parser does not get COMMAND: it belongs to
// another program, and the parser's time grows with the square of the number of arguments.
func cutCommand(app *kong.Node, args []string) (own, command []string) {
	if args[0] != "run" {
		return args, nil
	}
	run := app.Children[slices.IndexFunc(app.Children, func(n *kong.Node) bool { return n.Name == "run" })]
	flags := slices.Concat(run.AllFlags(false)...)
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			return args[:i], args[i+1:]
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			return args[:i], args[i:]
		case slices.ContainsFunc(flags, func(f *kong.Flag) bool { return !f.IsBool() && slices.Contains(names(f), arg) }):
			i++ // its value
		}
	}
	return args, nil
}

// dispatch runs the command that args name and returns the exit status.
func dispatch(args []string) int {
	if len(args) > 0 && args[0] == completeCommand {
		for _, word := range candidates(newParser().Model.Node, args[1:]) {
			fmt.Fprintln(stdout, word)
		}
		return exitOK
	}
	parser := newParser()
	if len(args) == 0 { // prints what --help prints, but on stderr, and fails
		args = []string{"--help"}
		parser.Stdout, parser.Exit = os.Stderr, func(int) { os.Exit(exitUsage) }
	}
	args, command := cutCommand(parser.Model.Node, args)
	parsed, err := parser.Parse(args)
	if err != nil {
		complain(inWords(err, args))
		return exitUsage
	}
	cmd := parsed.Selected().Target.Addr().Interface().(subcommand)
	if run, is := cmd.(*runConfig); is {
		run.Command = command
	}
	if err := cmd.check(); err != nil {
		complain(err)
		return exitUsage
	}
	return cmd.run()
}

// inWords returns a parse error with advice.
func inWords(err error, args []string) error {
	var chosen *kong.Node
	if e, ok := errors.AsType[*kong.ParseError](err); ok {
		chosen = e.Context.Selected()
	}
	text := err.Error()
	extra, tooMany := strings.CutPrefix(err.Error(), "unexpected argument ") // not shown, because it may be a URL with a password
	isURL := strings.Contains(extra, "://")
	switch {
	case chosen != nil && tooMany && isURL && has(chosen, "masters"):
		return fmt.Errorf("there is a URL without a flag: give it with --masters (redlock help %s lists all flags)", topicOf(chosen))
	case chosen != nil && tooMany && has(chosen, "name"):
		return fmt.Errorf("there is an argument without a flag: give the name of the lock with --name (redlock help %s lists all flags)", topicOf(chosen))
	case chosen != nil && tooMany && chosen.Parent.DefaultCmd == chosen && !slices.Contains(args, chosen.Name):
		return fmt.Errorf("there is an argument that is no command of redlock %s: give %s", chosen.Parent.Name, listed(memberCommands))
	case chosen != nil && tooMany:
		return fmt.Errorf("there is an argument too many: redlock help %s shows its arguments", topicOf(chosen))
	case chosen != nil:
		return fmt.Errorf("%s (redlock help %s lists all flags)", text, topicOf(chosen))
	case strings.HasPrefix(args[0], "-"):
		return fmt.Errorf("%s (see redlock help)", text)
	}
	return fmt.Errorf("unknown command %q: give %s", args[0], listed(append(topics(), "version", "help")))
}

func has(node *kong.Node, flag string) bool {
	return slices.ContainsFunc(slices.Concat(node.AllFlags(true)...), func(f *kong.Flag) bool { return f.Name == flag })
}

// topicOf returns the arguments of redlock help that print the help of the command.
func topicOf(node *kong.Node) string {
	_, topic, _ := strings.Cut(node.FullPath(), " ")
	return topic
}

// helpConfig holds the arguments of redlock help.
type helpConfig struct {
	Topic   string `arg:"" optional:"" help:"A command."`
	Command string `arg:"" optional:"" help:"Of members: list, add, replace, suspend, resume or remove."`
}

func (h *helpConfig) check() error {
	if h.Topic == "members" && h.Command != "" && !slices.Contains(memberCommands, h.Command) {
		return fmt.Errorf("no help on members %q: ask for %s", h.Command, listed(memberCommands))
	}
	if h.Command != "" && h.Topic != "members" {
		return errors.New("there is an argument too many: ask for help on one command")
	}
	if h.Topic == "" || slices.Contains(topics(), h.Topic) {
		return nil
	}
	return fmt.Errorf("no help on %q: ask for %s", h.Topic, listed(topics()))
}

func (h *helpConfig) run() int {
	args := slices.DeleteFunc([]string{h.Topic, h.Command, "--help"}, func(arg string) bool { return arg == "" })
	_, _ = newParser().Parse(args) // prints the help, and exits
	return exitOK
}

// versionConfig holds the arguments of redlock version.
type versionConfig struct {
	JSON bool `name:"json" help:"Print one JSON object: version, revision and go, each \"\" if it is not known."`
}

func (*versionConfig) check() error { return nil }

func (cfg *versionConfig) run() int {
	if cfg.JSON {
		printJSON(stdout, built())
	} else {
		fmt.Fprintln(stdout, version())
	}
	return exitOK
}

// buildJSON is the object that redlock version --json prints.
type buildJSON struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

func built() buildJSON {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return buildJSON{}
	}
	b := buildJSON{Version: info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}

// version returns the version and the build information as text.
func version() string {
	b := built()
	if b.Version == "" {
		return "redlock (built without module information)"
	}
	return strings.Join(strings.Fields(strings.Join([]string{"redlock", b.Version, b.Revision, b.Go}, " ")), " ")
}
