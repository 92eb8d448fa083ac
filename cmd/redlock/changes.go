package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/masterurl"
)

// The types of the arguments of the changes.
type (
	addConfig struct {
		changeFlags
		URL string `arg:"" name:"URL" help:"Of the new server, as in --masters."`
	}
	replaceConfig struct {
		changeFlags
		Old string `arg:"" name:"OLD" help:"The member: its address or URL. It need not answer."`
		New string `arg:"" name:"NEW" help:"URL of the server that takes its place, as in --masters."`
	}
	memberConfig struct { // of a change by which no server joins
		changeFlags
		Member string `arg:"" name:"ADDRESS" help:"The member: its address or URL."`
		what   string // what the change does
		change func(address string) admin.MemberChange
		done   string // the message on success: a format for the address
	}
)

// changeFlags are the flags of all changes.
type changeFlags struct {
	in   *deployment
	JSON bool `name:"json" help:"Print one JSON object: redlock help members describes it."`
}

// changeJSON is the object that a change prints with --json. Its fields are documented in the help.
type changeJSON struct {
	Change  string `json:"change"`
	Member  string `json:"member"`
	Address string `json:"address"`
	Done    bool   `json:"done"`
	Votes   bool   `json:"votes"`
	Error   string `json:"error"`
}

// givesVote reports whether the member should vote after the change.
func (c changeJSON) givesVote() bool {
	return c.Change == "add" || c.Change == "replace" || c.Change == "resume"
}

func (cfg *addConfig) check() error {
	return cfg.in.checkJoining("URL", &cfg.URL)
}

func (cfg *replaceConfig) check() error {
	return errors.Join(checkAddress("OLD", cfg.Old), cfg.in.checkJoining("NEW", &cfg.New))
}

func (cfg *memberConfig) check() error {
	return errors.Join(cfg.in.check(), checkAddress("ADDRESS", cfg.Member))
}

func (cfg *addConfig) run() int {
	address := addressOf(cfg.URL)
	return cfg.make(admin.AddMember(address), cfg.URL, changeJSON{Change: "add", Member: address, Address: address},
		fmt.Sprintf("%s is a member, and votes; clients need it among their masters to count on its vote", address))
}

func (cfg *replaceConfig) run() int {
	old, address := addressOf(cfg.Old), addressOf(cfg.New)
	return cfg.make(admin.ReplaceMember(old, address), cfg.New, changeJSON{Change: "replace", Member: old, Address: address},
		fmt.Sprintf("%s has the place of %s, and votes; it is recorded under this address; clients need it among their masters to count on its vote", address, old))
}

func (cfg *memberConfig) run() int {
	address := addressOf(cfg.Member)
	return cfg.make(cfg.change(address), "", changeJSON{Change: cfg.what, Member: address, Address: address}, fmt.Sprintf(cfg.done, address))
}

// make makes a change and prints the outcome. If a server becomes a member, joins is its URL, and otherwise "".
func (f *changeFlags) make(change admin.MemberChange, joins string, what changeJSON, done string) int {
	voter := ""
	if what.givesVote() {
		voter = what.Address
	}
	status, err := f.in.change(change, joins, voter)
	if err != nil {
		complain(err)
	}
	if f.JSON {
		what.Done, what.Votes, what.Error = status == exitOK || status == exitNoVote, voter != "" && status == exitOK, textOf(err)
		printJSON(stdout, what)
	} else if err == nil {
		fmt.Fprintln(stdout, done)
	}
	return status
}

// change makes a change. If a member should vote afterwards, voter is its address, and otherwise "". change
// returns an error if the change was not made, or if this member does not vote.
func (d *deployment) change(change admin.MemberChange, joins, voter string) (status int, err error) {
	var more []string
	if joins != "" && !slices.ContainsFunc(d.Masters, func(master string) bool { return addressOf(master) == addressOf(joins) }) {
		more = append(more, joins)
	}
	client, err := d.open(more...)
	if err != nil {
		return exitUsage, err
	}
	defer client.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	changed := make(chan error, 1)
	go func() { changed <- makeChange(ctx, client, change, joins) }()
	select {
	case err = <-changed:
	case s := <-signals:
		cancel()
		if err = <-changed; err != nil {
			return exitSignal + int(s.(syscall.Signal)), errors.New("interrupted: what was done stays, and the same command goes on from there")
		}
	}
	switch {
	case err == nil && voter == "":
		return exitOK, nil
	case err == nil:
		if err = d.noVote(client, voter); err != nil {
			return exitNoVote, err
		}
		return exitOK, nil
	case errors.Is(err, admin.ErrChangeRefused), errors.Is(err, redlock.ErrBadOption):
		status = exitUsage
	default:
		status = exitUnavailable
	}
	return status, fmt.Errorf("not done: %s", oneLine(err))
}

// noVote returns an error with the reason why the member at address does not vote, and with what to do, or nil if the
// member votes. The state in the table does not suffice: a member that is down or lost its data is "voting" there.
func (d *deployment) noVote(client *redlock.Client, address string) error {
	now, err := admin.Members(context.Background(), client) // also after a signal that came too late to stop the change
	if err != nil {
		return fmt.Errorf("%s is a member, but whether it votes now is not known: %s", address, oneLine(err))
	}
	i := slices.IndexFunc(now.Members, func(m admin.Member) bool { return m.Address == address || m.Master == address })
	if i < 0 {
		return fmt.Errorf("%s is no member any more: somebody else has changed the members since", address)
	}
	m := now.Members[i]
	do := "bring the server back, or give its place to another: redlock members replace"
	switch {
	case m.Condition() == "":
		return nil
	case m.Err == nil:
		return fmt.Errorf("%s is a member, but %s", address, remarks(m))
	case errors.Is(m.Err, redlock.ErrNotMember):
		do = fmt.Sprintf("redlock members replace %s URL, with a URL of the same address, gives it its place again", address)
	case !slices.ContainsFunc(d.Masters, func(master string) bool { return addressOf(master) == address }):
		return fmt.Errorf("%s is a member, but whether it votes now cannot be seen: give its URL in --masters too", address)
	}
	return fmt.Errorf("%s is a member, but does not vote now: %s: %s", address, oneLine(m.Err), do)
}

// makeChange makes the change once the server that joins has answered. It warns of unreachable members, because
// without them a quorum may be missing.
func makeChange(ctx context.Context, client *redlock.Client, change admin.MemberChange, joins string) error {
	now, err := admin.Members(ctx, client)
	if err != nil {
		return err
	}
	for _, m := range now.Members {
		if m.Err != nil {
			complain(fmt.Errorf("warning: the member %s: %s", m.Address, oneLine(m.Err)))
		}
	}
	if joins != "" {
		plan, err := admin.PlanInit(ctx, client, 0)
		if err != nil {
			return err
		}
		for _, m := range plan.Masters {
			if m.Master == addressOf(joins) && m.Err != nil {
				return fmt.Errorf("%s: %w", m.Master, m.Err)
			}
		}
	}
	return admin.ChangeMembers(ctx, client, change, (&progress{print: complain, now: time.Now}).report)
}

// progress prints what a change of the members waits for. It prints new texts, at most one each progressEvery.
type progress struct {
	print func(error)
	now   func() time.Time
	last  string
	at    time.Time // when the text in last was printed
}

// progressEvery is the least time between two messages of progress.
const progressEvery = 3 * time.Second

func (p *progress) report(text string) {
	if now := p.now(); text != p.last && (p.last == "" || now.Sub(p.at) >= progressEvery) {
		p.last, p.at = text, now
		p.print(errors.New(text))
	}
}

// checkJoining does what check does. It also checks the URL of a server that joins, and completes this URL with the
// flags.
func (d *deployment) checkJoining(what string, joins *string) error {
	given := d.check()
	if i := slices.IndexFunc(d.Masters, func(master string) bool { return addressOf(master) == *joins }); i >= 0 {
		*joins = d.Masters[i] // *joins was the address of a master, as redlock members prints it
	}
	if err := errors.Join(given, checkURL(what, *joins)); err != nil {
		return err
	}
	var err error
	*joins, err = d.complete(what, *joins)
	return err
}

// checkURL returns an error if the URL of a server that joins has the wrong form. redlock.Open, which
// also gets the URL, checks the rest.
func checkURL(what, text string) error {
	if !strings.Contains(text, "://") {
		return fmt.Errorf("%s must be the URL of the server, such as redis://user:password@host:6379", what)
	}
	return checkAddress(what, text)
}

// checkAddress reports what is wrong with the address of a member. The error does not quote the text, because the
// text may be a URL with a password.
func checkAddress(what, text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return fmt.Errorf("%s is empty", what)
	}
	if strings.Contains(text, "://") {
		if _, err := masterurl.Address(text); err != nil {
			return fmt.Errorf("%s is a URL that cannot be read; it is not shown, because it may hold a password", what)
		}
	} else if strings.Contains(text, "@") && !strings.HasPrefix(text, "/") {
		return fmt.Errorf("%s must be an address such as 10.0.0.1:6379, or a URL; it is not shown, because it may hold a password", what)
	}
	return nil
}

// addressOf returns the canonical address of a URL, and any other text unchanged.
func addressOf(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		return text
	}
	address, _ := masterurl.Address(text) // "" if redlock.Open refuses the URL
	return address
}
