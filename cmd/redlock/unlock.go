package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
)

// unlockConfig holds the arguments of redlock unlock.
type unlockConfig struct {
	deployment
	Name  string `placeholder:"NAME" help:"The lock."`
	Force bool   `help:"Required: it confirms that the lock is to be taken from its holder."`
	Yes   bool   `help:"Do not ask. Required without a terminal."`
	JSON  bool   `name:"json" help:"Print one JSON object. The holder and the question go to stderr."`
}

func (cfg *unlockConfig) check() error {
	errs := []error{cfg.deployment.check(), checkName(cfg.Name)}
	if !cfg.Force {
		errs = append(errs, errors.New("--force is missing: redlock unlock only takes locks from others, see redlock help unlock"))
	} else if !cfg.Yes && !term.IsTerminal(int(os.Stdin.Fd())) {
		errs = append(errs, errors.New("--yes is missing: there is no terminal to ask on"))
	}
	return errors.Join(errs...)
}

// unlockJSON is the object that redlock unlock --json prints. Its fields are documented in the help.
type unlockJSON struct {
	Lock  lockJSON `json:"lock"`
	Token string   `json:"token"`
	Error string   `json:"error"`
}

func (cfg *unlockConfig) run() int {
	client, err := cfg.open()
	if err != nil {
		complain(err)
		return exitUsage
	}
	defer client.Close()
	var out io.Writer = stdout
	if cfg.JSON {
		out = os.Stderr
	}
	var shown lockStatus
	shown.in, shown.err = admin.Inspect(context.Background(), client, cfg.Name)
	shown.in.Name = cfg.Name
	printLock(out, shown, false)
	switch {
	case shown.err != nil:
		return cfg.conclude(exitUnavailable, shown, 0, fmt.Errorf("nothing was done: %s", oneLine(shown.err)))
	case !cfg.Yes && !agrees(os.Stdin, shown.in.Quorum.State):
		return cfg.conclude(exitDeclined, shown, 0, errors.New("nothing was done"))
	}
	token, err := cfg.take(client, shown.in)
	status := exitUnavailable
	if errors.Is(err, redlock.ErrHeld) {
		status = exitDeclined
	}
	return cfg.conclude(status, shown, token, cfg.explained(token, err))
}

// take takes the lock from its holders, but only if these are still the holders that were shown.
func (cfg *unlockConfig) take(client *redlock.Client, shown admin.Inspection) (fence.Token, error) {
	token, err := admin.ForceUnlock(context.Background(), client, shown)
	if !errors.Is(err, redlock.ErrBadOption) {
		return token, err
	}
	// The max ttl should be above operatorTimeout, but is not. Try the default request timeout, which is shorter.
	if client, err = cfg.openClient(nil); err != nil {
		return 0, err
	}
	defer client.Close()
	return admin.ForceUnlock(context.Background(), client, shown)
}

// agrees asks on the terminal whether to go on, and reports whether the answer is yes.
func agrees(keyboard io.Reader, state admin.LockState) bool {
	question := "The holder may work on until it notices. Take the lock?"
	if state == admin.LockFree {
		question = "Nobody has the lock, so only its token would move on. Is that what you want?"
	}
	fmt.Fprint(os.Stderr, question+" [yes/no] ")
	answer, _ := bufio.NewReader(keyboard).ReadString('\n') // the end of input counts as no
	return strings.EqualFold(strings.TrimSpace(answer), "yes")
}

// explained adds an explanation for the operator to an error of ForceUnlock.
func (cfg *unlockConfig) explained(token fence.Token, err error) error {
	q, _ := errors.AsType[*redlock.QuorumError](err)
	switch {
	case err == nil:
		return nil
	case token.Valid():
		return fmt.Errorf("warning: some masters keep the name until the ttl has passed: %s", oneLine(err))
	case errors.Is(err, redlock.ErrHeld):
		return fmt.Errorf("the shown holder does not hold %q any more; another holder has it, and keeps it: see redlock status: %s", cfg.Name, oneLine(err))
	case q != nil && q.Op != "force unlock":
		return fmt.Errorf("the shown holder does not hold %q any more, but there is no new token: run it again for one: %s", cfg.Name, oneLine(err))
	}
	return fmt.Errorf("%q may still be held, and others may get it beside the holder: run it again when more masters answer: %s", cfg.Name, oneLine(err))
}

// conclude prints the outcome. It returns exitOK if there is a token, and otherwise the given status.
func (cfg *unlockConfig) conclude(status int, shown lockStatus, token fence.Token, err error) int {
	if err != nil {
		complain(err)
	}
	if cfg.JSON {
		printJSON(stdout, unlockJSON{jsonOfLock(shown), tokenText(uint64(token)), textOf(err)})
	}
	if !token.Valid() {
		return status
	}
	if !cfg.JSON {
		from := "taken from the holder shown above"
		if shown.in.Quorum.State == admin.LockFree {
			from = "nobody's"
		}
		fmt.Fprintf(stdout, `
%q is %s. Its fencing token is %v now.

Give this token to every store that the lock guards, or write something with it. Until then a store takes what the old holder still writes, which notices at its next renewal only.
`, cfg.Name, from, token)
	}
	if stdout.err != nil {
		complain(fmt.Errorf("the fencing token of %q is %v now: give it to every store that the lock guards", cfg.Name, token))
	}
	return exitOK
}
