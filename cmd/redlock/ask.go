package main

import (
	"context"
	"slices"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// operatorTimeout is how long a master may take over a request of an operator, who
// would rather wait than do it again.
const operatorTimeout = 2 * time.Second

// planOf is Client.PlanInit, and membersOf is Client.Members, which leave out masters that
// do not answer within a tenth of a second: those are waited for.

func planOf(ctx context.Context, client *redlock.Client, floor fence.Token) (plan redlock.InitPlan, err error) {
	askUntil(ctx, func() bool {
		plan, err = client.PlanInit(ctx, floor)
		return err != nil || !slices.ContainsFunc(plan.Masters, unknown)
	})
	return plan, err
}

func membersOf(ctx context.Context, client *redlock.Client) (now redlock.Membership, err error) {
	askUntil(ctx, func() bool {
		now, err = client.Members(ctx)
		return err != nil || !slices.ContainsFunc(now.Members, func(m redlock.Member) bool { return m.Err != nil }) &&
			!slices.ContainsFunc(now.Others, func(o redlock.OtherMaster) bool { return o.Err != nil })
	})
	return now, err
}

// askUntil asks until all masters have answered, but not for long: some may be down.
func askUntil(ctx context.Context, ask func() (all bool)) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for !ask() && sleep(ctx, 20*time.Millisecond) {
	}
}
