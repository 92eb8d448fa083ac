package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/redlock-go/redlock"
)

// What the library says is put into words of the command line here.

// flagFor is the flag that sets what the library calls a field.
var flagFor = map[string]string{"ttl": "--ttl", "lock delay": "--grace", "max ttl": "--max-ttl", "floor": "--floor", "name": "--name"}

var (
	masterField = regexp.MustCompile(`^(?:urls|masters)\[(\d+)\](?:'s (\w+))?$`)
	masterRule  = regexp.MustCompile(`masters\[(\d+)\]`)
)

// inFlags names the flags where the library names its fields.
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
	told := *e
	if flag, is := flagFor[e.Field]; is {
		told.Field = flag
	} else if e.Field == "number of masters" {
		told.Field = "number of " + d.from
	} else if found := masterField.FindStringSubmatch(e.Field); found != nil {
		told.Field = d.placeOf(found[1])
		if found[2] != "" { // of a file
			told.Field = found[2] + " of " + told.Field
		}
	}
	told.Rule = strings.ReplaceAll(e.Rule, "the lock delay", "--grace")
	told.Rule = masterRule.ReplaceAllStringFunc(told.Rule, func(field string) string {
		return d.placeOf(masterRule.FindStringSubmatch(field)[1])
	})
	return &told
}

// worded is an error of a call, with flags in it if it is about input.
func (d *deployment) worded(err error) error {
	if bad, ok := errors.AsType[*redlock.OptionError](err); ok {
		return d.inFlags(bad)
	}
	return err
}

// placeOf is place of an index in decimal.
func (d *deployment) placeOf(index string) string {
	i, _ := strconv.Atoi(index) // of digits
	if i >= len(d.Masters) {
		return "the URL of the server that joins"
	}
	return d.place(i)
}

// place names the master at an index, as people count.
func (d *deployment) place(index int) string { return fmt.Sprintf("place %d of %s", index+1, d.from) }

// flagsOfFiles puts flags in the place of parameters of URLs, where the library tells to give some:
// a user of the command has both.
var flagsOfFiles = strings.NewReplacer("with tls_ca", "with --tls-ca", "with tls_cert and tls_key", "with --tls-cert and --tls-key")
