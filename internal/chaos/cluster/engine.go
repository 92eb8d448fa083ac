package cluster

import (
	"context"
	"os"
)

// choose returns the engine that cfg asks for, and says so to log.
func choose(ctx context.Context, run *folder, cfg Config, log func(string, ...any)) (engine, Engine, error) {
	if cfg.Engine != Process {
		e, err := newDockerEngine(ctx, run, cfg.Expire)
		switch {
		case err == nil:
			log("masters are containers of the image %s", e.image)
			return e, Docker, nil
		case cfg.Engine == Docker || os.Getenv("CI") != "":
			return nil, "", err
		}
		log("masters are processes: %v", err)
	} else {
		log("masters are processes, as was asked for")
	}
	e, err := newProcessEngine(ctx, run)
	if err != nil {
		return nil, "", err
	}
	if err := e.clock(); err != nil {
		log("%v", err)
	}
	return e, Process, nil
}
