package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
)

// operatorTimeout is the request timeout of the commands for operators. For an operator, a longer wait is
// better than a second try.
const operatorTimeout = 2 * time.Second

// membersConfig holds the arguments of `redlock members` and of its subcommands. Flags before the
// name of a subcommand apply to the subcommand too.
type membersConfig struct {
	deployment
	List    listConfig    `cmd:"" default:"withargs" help:"Show the members, as redlock members alone does."`
	Add     addConfig     `cmd:"" help:"Make the server at URL a member."`
	Replace replaceConfig `cmd:"" help:"Give the place of the member OLD to the server at NEW."`
	Suspend memberConfig  `cmd:"" help:"Take the vote from a member, until it is resumed."`
	Resume  memberConfig  `cmd:"" help:"Give the vote back to a suspended member."`
	Remove  memberConfig  `cmd:"" help:"Take a member out: the deployment gets smaller by one."`
}

// memberCommands lists the subcommands of redlock members, for help.
var memberCommands = []string{"list", "add", "replace", "suspend", "resume", "remove"}

// join gives the subcommands their effects, and the flags that they share.
func (cfg *membersConfig) join() {
	d := &cfg.deployment
	cfg.Suspend = memberConfig{what: "suspend", change: admin.SuspendMember, done: "%s does not vote until it is resumed"}
	cfg.Resume = memberConfig{what: "resume", change: admin.ResumeMember, done: "%s votes"}
	cfg.Remove = memberConfig{what: "remove", change: admin.RemoveMember, done: "%s is no member"}
	cfg.List.in, cfg.Add.in, cfg.Replace.in, cfg.Suspend.in, cfg.Resume.in, cfg.Remove.in = d, d, d, d, d, d
}

// listConfig holds the arguments of redlock members list, or of redlock members alone.
type listConfig struct {
	in   *deployment
	JSON bool `name:"json" help:"Print one JSON object: redlock help members describes it."`
}

func (cfg *listConfig) check() error { return cfg.in.check() }

func (cfg *listConfig) run() int {
	client, err := cfg.in.open()
	if err != nil {
		complain(err)
		return exitUsage
	}
	defer client.Close()
	now, err := admin.Members(context.Background(), client)
	if err != nil {
		complain(err)
	}
	switch {
	case cfg.JSON && err != nil:
		printJSON(stdout, listJSON{membershipJSON{Others: []otherJSON{}}, textOf(err)})
	case cfg.JSON:
		printJSON(stdout, listJSON{jsonOf(now), ""})
	case err == nil:
		printMembers(stdout, now)
	}
	if err != nil {
		return exitUnavailable
	}
	return exitOK
}

// open returns a client for an operator.
func (d *deployment) open(more ...string) (*redlock.Client, error) {
	return d.openClient(more, redlock.WithRequestTimeout(operatorTimeout))
}

// printMembers prints the table for people.
func printMembers(w io.Writer, m admin.Membership) {
	fmt.Fprintf(w, "deployment %s, version %d\nmax ttl %v, clocks may differ by %.4g %%\n%s\n\n", m.Deployment, m.Version, m.MaxTTL, 100*m.Drift, votesOf(m))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MEMBER\tSTATE\tSERVED BY\tREMARKS")
	for _, member := range m.Members {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", member.Address, member.State, cmp.Or(member.Master, "-"), remarks(member))
	}
	_ = table.Flush()
	for _, member := range m.Members {
		if len(member.Names) > 0 {
			fmt.Fprintf(w, "\nClients also reach %s as %s.\n", member.Address, strings.Join(member.Names, ", "))
		}
		if member.Mend != "" {
			fmt.Fprintf(w, "\nIf %s does not come back by itself: %s\n", member.Address, member.Mend)
		}
	}
	if len(m.Others) > 0 {
		fmt.Fprintln(w, "\nThese masters are no members:")
	}
	for _, other := range m.Others {
		fmt.Fprintf(w, "%s: %s\n", other.Master, cmp.Or(other.State, textOf(other.Err)))
	}
	if m.Unfinished {
		fmt.Fprintln(w, "\nA change was begun, and is not known to be made. Any client that runs finishes it.")
	}
}

// votesOf returns a text on how many members may vote, and how many of these vote now.
func votesOf(m admin.Membership) string {
	voting, present := 0, 0
	for _, member := range m.Members {
		if member.State == admin.MemberVoting {
			voting++
			if member.Condition() == "" {
				present++
			}
		}
	}
	text := fmt.Sprintf("%d of %s decide, %d may vote", m.Need, counted(len(m.Members), "member"), voting)
	if present < voting {
		text += fmt.Sprintf(", %d of them do now", present)
	}
	if present < m.Need {
		text += ": nobody can lock"
	}
	return text
}

// remarks returns the text that is printed beside the state of a member.
func remarks(m admin.Member) string {
	text := m.Condition()
	if m.Err != nil {
		text += "; " + oneLine(m.Err)
	}
	return text
}

// The object that --json prints. Its fields are documented in the help; scripts rely on their names.
type (
	membershipJSON struct {
		Deployment   string       `json:"deployment"`
		Version      int          `json:"version"`
		MaxTTLMillis int64        `json:"maxTtlMillis"`
		Drift        float64      `json:"drift"`
		Need         int          `json:"need"`
		Unfinished   bool         `json:"unfinished"`
		Members      []memberJSON `json:"members"`
		Others       []otherJSON  `json:"others"`
	}
	// On an error, listJSON has null for members. So a script that iterates over the members fails too.
	listJSON struct {
		membershipJSON
		Error string `json:"error"`
	}
	memberJSON struct {
		Address    string   `json:"address"`
		State      string   `json:"state"`
		Master     string   `json:"master"`
		ID         string   `json:"id"`
		LeftMillis int64    `json:"leftMillis"`
		Error      string   `json:"error"`
		Names      []string `json:"names"`
		Mend       string   `json:"mend"`
	}
	otherJSON struct {
		Master string `json:"master"`
		State  string `json:"state"`
		Error  string `json:"error"`
	}
)

func jsonOf(m admin.Membership) membershipJSON {
	out := membershipJSON{
		Deployment: m.Deployment, Version: m.Version, MaxTTLMillis: m.MaxTTL.Milliseconds(), Drift: m.Drift,
		Need: m.Need, Unfinished: m.Unfinished, Members: []memberJSON{}, Others: []otherJSON{},
	}
	for _, m := range m.Members {
		out.Members = append(out.Members, memberJSON{m.Address, string(m.State), m.Master, m.ID, m.Left.Milliseconds(), textOf(m.Err), append([]string{}, m.Names...), m.Mend})
	}
	for _, o := range m.Others {
		out.Others = append(out.Others, otherJSON{o.Master, o.State, textOf(o.Err)})
	}
	return out
}

// textOf returns an error as one line, or "".
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return oneLine(err)
}
