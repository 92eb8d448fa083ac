package fault

import (
	"context"
	"fmt"
)

func applyForce(ctx context.Context, f Fault, env *Env) error {
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
