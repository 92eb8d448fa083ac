package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/masterurl"
)

// initConfig holds the arguments of redlock init.
type initConfig struct {
	deployment
	MaxTTL *time.Duration `placeholder:"TIME" help:"The limit of --ttl plus --grace of any client. It cannot be changed later. A member that joins later votes only after this time. Default ${max_ttl}."`
	Floor  fence.Token    `placeholder:"N" help:"All later tokens are above N."`
	Force  bool           `help:"Make a new deployment of these masters, even if they belong to another: see redlock help init."`
	Yes    bool           `help:"Do it. Without --yes, only print what would be done."`
	JSON   bool           `name:"json" help:"Print one JSON object."`
}

func (cfg *initConfig) check() error {
	return errors.Join(cfg.deployment.check(), checkMaxTTL(cfg.maxTTL()))
}

// maxTTL returns the max ttl for a new deployment.
func (cfg *initConfig) maxTTL() time.Duration {
	if cfg.MaxTTL == nil {
		return limits.DefaultMaxTTL
	}
	return *cfg.MaxTTL
}

func (cfg *initConfig) run() int {
	client, err := cfg.openClient(nil, redlock.WithMaxTTL(cfg.maxTTL()),
		redlock.WithRequestTimeout(min(operatorTimeout, cfg.maxTTL()/2)))
	if err != nil {
		complain(err)
		return exitUsage
	}
	defer client.Close()
	var plan admin.InitPlan
	if !cfg.Yes || cfg.JSON || cfg.MaxTTL != nil {
		plan, err = admin.PlanInit(context.Background(), client, cfg.Floor)
	}
	if err == nil && plan.Refused == nil && !cfg.Force {
		err = cfg.suits(plan)
	}
	switch {
	case err != nil:
	case cfg.Yes:
		err = cfg.do(client)
	case cfg.Force:
		err = plan.ForceRefused
	default:
		err = plan.Refused
	}
	err = cfg.worded(err)
	switch {
	case cfg.JSON:
		cfg.printPlanJSON(client, plan, err)
	case !cfg.Yes:
		cfg.printPlan(plan, err)
	case err == nil:
		cfg.report(client)
	}
	if err != nil {
		return cfg.notDone(err, errors.Is(err, redlock.ErrNoQuorum) || slices.ContainsFunc(plan.Masters, unknown))
	}
	return exitOK
}

// suits returns an error if --max-ttl differs from the max ttl of the existing or half-founded deployment, because
// init cannot change the max ttl.
func (cfg *initConfig) suits(plan admin.InitPlan) error {
	if cfg.MaxTTL == nil || plan.MaxTTL == cfg.MaxTTL.Truncate(time.Millisecond) {
		return nil
	}
	return &redlock.OptionError{Field: "--max-ttl", Value: *cfg.MaxTTL,
		Rule: fmt.Sprintf("must be left out: the deployment is there, and has %v, which cannot be changed; another deployment needs other masters, or another --prefix", plan.MaxTTL)}
}

func (cfg *initConfig) do(client *redlock.Client) error {
	if cfg.Force {
		return admin.ForceInit(context.Background(), client, cfg.Floor)
	}
	return admin.Init(context.Background(), client, cfg.Floor)
}

// notDone prints why init failed and what to do next, and returns the status. If masters did not answer, the advice is
// about these.
func (cfg *initConfig) notDone(err error, unanswered bool) int {
	complain(fmt.Errorf("not done: %s", oneLine(err)))
	switch {
	case errors.Is(err, redlock.ErrBadOption):
		return exitUsage
	case unanswered && refuses(err):
		complain(errors.New("mend the faults of these masters, and run it again: it resumes where it stopped"))
	case unanswered:
		complain(errors.New("run it again when all masters answer: it resumes where it stopped"))
	case errors.Is(err, admin.ErrNotFounded) && !cfg.Force:
		complain(errors.New("give exactly the masters of one deployment, or new ones; redlock members lists the members of a deployment, and changes them. If what these masters belong to is lost, --force makes a new deployment of them: see redlock help init for the conditions"))
	}
	return exitUnavailable
}

// refuses reports whether a master answered but cannot be used. A retry would then fail again.
func refuses(err error) bool {
	_, noTrust := errors.AsType[*masterurl.TLSError](err)
	return noTrust || errors.Is(err, redlock.ErrNotMember) || errors.Is(err, redlock.ErrDenied) || refusesPassword(err.Error())
}

// report prints the state of the masters after init.
func (cfg *initConfig) report(client *redlock.Client) {
	above := "the Unix time in ms"
	if cfg.Floor > 0 {
		above += fmt.Sprintf(" and above %d", cfg.Floor)
	}
	now, err := admin.Members(context.Background(), client)
	if err != nil { // unlikely: the masters answered a moment ago
		fmt.Fprintf(stdout, "done: every token to come is above %s\n", above)
		return
	}
	var addresses []string
	for _, m := range now.Members {
		addresses = append(addresses, m.Address)
	}
	fmt.Fprintf(stdout, "deployment %s: %s, %d of them decide, and every token to come is above %s\n",
		now.Deployment, counted(len(now.Members), "member"), now.Need, above)
	fmt.Fprintf(stdout, "recorded as %s; clients may reach them by other names\n", strings.Join(addresses, ", "))
}

// The object that redlock init --json prints. Its fields are documented in the help.
type (
	initJSON struct {
		Does       string           `json:"does"`
		Done       bool             `json:"done"`
		Masters    []initMasterJSON `json:"masters"`
		AtLeast    string           `json:"atLeast"`
		Deployment string           `json:"deployment"`
		Error      string           `json:"error"`
	}
	initMasterJSON struct {
		Master string `json:"master"`
		State  string `json:"state"`
		Error  string `json:"error"`
	}
)

func (cfg *initConfig) printPlanJSON(client *redlock.Client, plan admin.InitPlan, err error) {
	out := initJSON{Does: plan.Does, Done: cfg.Yes && err == nil, Masters: []initMasterJSON{}, AtLeast: tokenText(uint64(plan.AtLeast)), Error: textOf(err)}
	if cfg.Force && out.Does != "" {
		out.Does = "force"
	}
	for _, m := range plan.Masters {
		out.Masters = append(out.Masters, initMasterJSON{m.Master, m.State, textOf(m.Err)})
	}
	if out.Done {
		if now, err := admin.Members(context.Background(), client); err == nil { // likely: the masters answered a moment ago
			out.Deployment = now.Deployment
		}
	}
	printJSON(stdout, out)
}

// printPlan prints the states of the masters. Unless Init is refused, it also prints what Init would do.
func (cfg *initConfig) printPlan(plan admin.InitPlan, refused error) {
	for _, m := range plan.Masters {
		if m.Err != nil {
			fmt.Fprintf(stdout, "%s: cannot be used: %s\n", m.Master, oneLine(m.Err))
		} else {
			fmt.Fprintf(stdout, "%s: %s\n", m.Master, m.State)
		}
	}
	if refused != nil {
		return
	}
	whole := fmt.Sprintf(`
  - %d of %s decide
  - the longest ttl and grace of any client is %v (--max-ttl)
  - clocks may differ by %.4g %%
  - every fencing counter goes to the highest of all masters', and to %d at least
`, len(cfg.Masters)/2+1, counted(len(cfg.Masters), "member"), cfg.maxTTL(), 100*limits.DefaultDrift, plan.AtLeast)
	if number := numberOf(len(cfg.Masters), "member"); number.Level > levelOK {
		whole += fmt.Sprintf("%v: %s: %s: %s\n", number.Level, number.What, number.Why, number.Do)
	}
	switch {
	case cfg.Force:
		fmt.Fprintf(stdout, `With --yes, a new deployment is made of these masters, whatever they belong to:%sThe data that is left does not show whether that is safe. You must know that
  - no lock is held any more: the max ttl has passed since the loss
  - every token that was handed out is below %d
  - members that are not among these masters are gone for good
`, whole, plan.AtLeast)
	case plan.Does == "raise":
		fmt.Fprintf(stdout, `They are the members of one deployment already. With --yes:
  - every fencing counter goes to %d at least
  - nothing else is changed
`, plan.AtLeast)
	case plan.Does == "finish":
		fmt.Fprintln(stdout, "They are being made a deployment by an init that did not end. With --yes, it is finished.")
	default:
		fmt.Fprintf(stdout, "With --yes, a deployment is made of these masters:%s", whole)
	}
	fmt.Fprintln(stdout, "Nothing was done.")
}

func unknown(m admin.InitMaster) bool { return m.Err != nil }
