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

// The changes of the members. Each is what the arguments ask for.
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
	memberConfig struct { // no server joins
		changeFlags
		Member string `arg:"" name:"ADDRESS" help:"The member: its address or URL."`
		what   string // it does
		change func(address string) admin.MemberChange
		done   string // is a format for the address
	}
)

// changeFlags is what all changes have.
type changeFlags struct {
	in   *deployment
	JSON bool `name:"json" help:"Tell what came of it as one JSON object: redlock help members describes it."`
}

// changeJSON is the object that a change prints with --json. The help describes it.
type changeJSON struct {
	Change  string `json:"change"`
	Member  string `json:"member"`
	Address string `json:"address"`
	Done    bool   `json:"done"`
	Votes   bool   `json:"votes"`
	Error   string `json:"error"`
}

// givesVote reports that the member is to vote after the change.
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

// make makes a change, for which the server at the URL joins, unless that is "", and tells what
// came of it.
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

// change makes a change, and returns why it was not made, or why the voter, unless that is "", does
// not vote after it.
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
		if err = d.noVote(ctx, client, voter); err != nil {
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

// noVote is why the member at an address does not vote though the table says that it may, and what
// to do; nil if it votes. The table does not tell: a member that is down, or lost its data, stays
// in it.
func (d *deployment) noVote(ctx context.Context, client *redlock.Client, address string) error {
	now, err := admin.Members(ctx, client)
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

// makeChange makes it when the server that joins has answered. It warns of members that cannot be
// reached: fewer may answer than are needed.
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
	return admin.ChangeMembers(ctx, client, change, (&progress{say: complain, now: time.Now}).tell)
}

// progress tells what a change waits for, when that is another thing, and not too often.
type progress struct {
	say  func(error)
	now  func() time.Time
	last string
	at   time.Time // when it was told
}

// progressEvery is the least time between two words.
const progressEvery = 3 * time.Second

func (p *progress) tell(text string) {
	if now := p.now(); text != p.last && (p.last == "" || now.Sub(p.at) >= progressEvery) {
		p.last, p.at = text, now
		p.say(errors.New(text))
	}
}

// checkJoining is check for a command with the URL of a server that joins, to which the flags apply
// as to the masters.
func (d *deployment) checkJoining(what string, joins *string) error {
	given := d.check()
	if i := slices.IndexFunc(d.Masters, func(master string) bool { return addressOf(master) == *joins }); i >= 0 {
		*joins = d.Masters[i] // as redlock members prints it
	}
	if err := errors.Join(given, checkURL(what, *joins)); err != nil {
		return err
	}
	var err error
	*joins, err = d.complete(what, *joins)
	return err
}

// checkURL reports what is wrong with the URL of a server that joins. redlock.Open, which is given
// it too, says more.
func checkURL(what, text string) error {
	if !strings.Contains(text, "://") {
		return fmt.Errorf("%s must be the URL of the server, such as redis://user:password@host:6379", what)
	}
	return checkAddress(what, text)
}

// checkAddress reports what is wrong with the name of a member. It is not shown: it may be a URL
// with a password.
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

// addressOf is the address of a server as the library names it, of its URL or as it is.
func addressOf(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		return text
	}
	address, _ := masterurl.Address(text) // "" of a master that redlock.Open refuses
	return address
}
