package cluster

import (
	"context"
	"fmt"
	"os"
)

// choose returns the engine that cfg asks for, and logs the choice.
func choose(ctx context.Context, folder string, cfg Config) (engine, Engine, error) {
	log := func(format string, args ...any) { _, _ = fmt.Fprintf(cfg.Log, "cluster: "+format+"\n", args...) }
	if cfg.Engine != Process {
		e, err := newDockerEngine(ctx)
		switch {
		case err == nil:
			log("masters are containers of the image %s", image)
			return e, Docker, nil
		case cfg.Engine == Docker || os.Getenv("CI") != "":
			return nil, "", err
		}
		log("masters are processes: %v", err)
	}
	e := newProcessEngine(ctx, folder)
	if err := e.clock(); err != nil {
		log("%v", err)
	}
	return e, Process, nil
}
