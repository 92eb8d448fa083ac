package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
)

var errNoOperator = errors.New("there is no operator")

func applyChange(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
	if env.Operator == nil {
		return errNoOperator
	}
	return each(all, func(m cluster.Master) error {
		there, back, err := f.change(env, m)
		if err == nil {
			err = insist(ctx, env, f.Delay, there)
		}
		if err != nil {
			return err
		}
		Wait(ctx, f.Span)
		return insist(ctx, env, f.Delay, back)
	})
}

// change returns a function that changes the master's membership (there), and a function that undoes this change
// (back).
func (f Fault) change(env *Env, m cluster.Master) (there, back func(context.Context) error, err error) {
	member := m.Addr()
	change := func(c admin.MemberChange) func(context.Context) error {
		return func(ctx context.Context) error { return env.Operator.Change(ctx, c) }
	}
	remove := func(ctx context.Context) error { return env.Operator.Remove(ctx, member) }
	switch f.Kind {
	case Suspend:
		return change(admin.SuspendMember(member)), change(admin.ResumeMember(member)), nil
	case Add:
		return change(admin.AddMember(member)), remove, nil
	case Remove:
		return remove, change(admin.AddMember(member)), nil
	}
	spares, err := env.mastersOf(f.Spare)
	if err != nil {
		return nil, nil, err
	}
	spare := spares[0].Addr()
	return change(admin.ReplaceMember(member, spare)), change(admin.ReplaceMember(spare, member)), nil
}

// insist makes an operator do a change. If killed is not 0 and the change takes longer than killed,
// this operator is killed, and another operator does the change.
func insist(ctx context.Context, env *Env, killed time.Duration, change func(context.Context) error) error {
	if killed > 0 {
		if over, err := within(ctx, killed, change); !over {
			return err
		}
		Wait(ctx, killed)
	}
	if over, err := within(ctx, env.Patience, change); !over {
		return err
	}
	return nil
}

// within runs a change for at most d, and reports whether the time ran out before the change was done.
func within(ctx context.Context, d time.Duration, change func(context.Context) error) (over bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err = change(ctx)
	return ctx.Err() != nil, err
}

func applyInit(ctx context.Context, _ Fault, env *Env, all []cluster.Master) error {
	if env.Operator == nil {
		return errNoOperator
	}
	var addresses []string
	for _, m := range all {
		addresses = append(addresses, m.Addr())
	}
	return env.Operator.Init(ctx, addresses...)
}

func applyForce(ctx context.Context, f Fault, env *Env, _ []cluster.Master) error {
	if env.Operator == nil {
		return errNoOperator
	}
	if f.Lock >= len(env.Names) {
		return fmt.Errorf("there is no lock n%d", f.Lock)
	}
	return insist(ctx, env, f.Delay, func(ctx context.Context) error {
		return env.Operator.ForceUnlock(ctx, env.Names[f.Lock], env.Emit)
	})
}
