package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// verifyConfig holds the arguments of redlock verify.
type verifyConfig struct {
	deployment
	Name  string      `placeholder:"NAME" help:"The lock."`
	Token fence.Token `placeholder:"N" help:"The fencing token that its holder got: REDLOCK_TOKEN of redlock run, Lock.Token in Go."`
	JSON  bool        `name:"json" help:"Print one JSON object."`
}

func (cfg *verifyConfig) check() error {
	errs := []error{cfg.deployment.check(), checkName(cfg.Name)}
	if !cfg.Token.Valid() {
		errs = append(errs, errors.New("--token is missing: it must be the fencing token of the hold"))
	}
	return errors.Join(errs...)
}

// verifyJSON is the object that redlock verify --json prints. Its fields are documented in the help.
type verifyJSON struct {
	Name    string `json:"name"`
	Token   string `json:"token"`
	Verdict string `json:"verdict"`
	Error   string `json:"error"`
}

func (cfg *verifyConfig) run() int {
	client, err := cfg.open()
	if err != nil {
		complain(err)
		return exitUsage
	}
	defer client.Close()
	verdict, err := client.Verify(context.Background(), cfg.Name, cfg.Token)
	if cfg.JSON {
		printJSON(stdout, verifyJSON{cfg.Name, cfg.Token.String(), verdict.String(), textOf(err)})
	}
	switch verdict {
	case redlock.VerifyValid:
		cfg.println("valid: the hold with this token exists")
		return exitOK
	case redlock.VerifyStale:
		cfg.println("stale: no hold with this token exists")
		return exitStale
	}
	complain(fmt.Errorf("it is not known whether the hold of %q with token %v exists: %s", cfg.Name, cfg.Token, oneLine(err)))
	return exitUnavailable
}

func (cfg *verifyConfig) println(what string) {
	if !cfg.JSON {
		fmt.Fprintf(stdout, "%q, token %v: %s\n", cfg.Name, cfg.Token, what)
	}
}
