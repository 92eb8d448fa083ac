package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/redlock-go/redlock"
)

// This file puts errors of the library into words of the command line.

// flagFor maps the library's name of a setting to its flag.
var flagFor = map[string]string{"ttl": "--ttl", "lock delay": "--grace", "max ttl": "--max-ttl", "floor": "--floor", "name": "--name"}

var (
	masterField = regexp.MustCompile(`^(?:urls|masters)\[(\d+)\](?:'s (\w+))?$`)
	masterRule  = regexp.MustCompile(`masters\[(\d+)\]`)
)

// inFlags returns err, an error of the library, with flags in place of the names of settings.
func (d *deployment) inFlags(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, d.inFlags(e))
		}
		return errors.Join(all...)
	}
	e, ok := err.(*redlock.OptionError)
	if !ok {
		return err
	}
	flagged := *e
	if flag, is := flagFor[e.Field]; is {
		flagged.Field = flag
	} else if e.Field == "number of masters" {
		flagged.Field = "number of " + d.from
	} else if found := masterField.FindStringSubmatch(e.Field); found != nil {
		flagged.Field = d.placeOf(found[1])
		if found[2] != "" { // the field is a file that the URL names
			flagged.Field = found[2] + " of " + flagged.Field
		}
	}
	flagged.Rule = strings.ReplaceAll(e.Rule, "the lock delay", "--grace")
	flagged.Rule = masterRule.ReplaceAllStringFunc(flagged.Rule, func(field string) string {
		return d.placeOf(masterRule.FindStringSubmatch(field)[1])
	})
	return &flagged
}

// worded returns err, the error of a call. If err is about an option, flags replace the names of settings in its text.
func (d *deployment) worded(err error) error {
	if bad, ok := errors.AsType[*redlock.OptionError](err); ok {
		return d.inFlags(bad)
	}
	return err
}

// placeOf does what place does, for an index in decimal.
func (d *deployment) placeOf(index string) string {
	i, _ := strconv.Atoi(index) // an expression has matched the digits
	if i >= len(d.Masters) {
		return "the URL of the server that joins"
	}
	return d.place(i)
}

// place returns where the URL of a master was given, such as "place 2 of --masters".
func (d *deployment) place(index int) string { return fmt.Sprintf("place %d of %s", index+1, d.from) }

// flagsOfFiles replaces parameters of URLs by flags in the library's advice. Users of the command can use both.
var flagsOfFiles = strings.NewReplacer("with tls_ca", "with --tls-ca", "with tls_cert and tls_key", "with --tls-cert and --tls-key")
