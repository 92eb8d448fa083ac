package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/redlock-go/redlock"
)

// What the parser and the library say is put into words of the command line here.

// parserWords are what the parser says, and what a user is told instead. The first that matches
// counts.
var parserWords = []struct {
	says *regexp.Regexp
	tell func(found []string) string
}{
	{regexp.MustCompile(`^(--\S+): (?:expected \w+ value but got "EOL" \(<EOL>\)|missing value, expecting .*)$`), func(f []string) string {
		return f[1] + " has no value"
	}},
	{regexp.MustCompile(`^(--\S+): expected \w+ value but got ("(.*)") \((?:short|long) flag\); perhaps try .*$`), func(f []string) string {
		return fmt.Sprintf("%s has no value before %s: write %s=%s if that is it", f[1], f[2], f[1], f[3])
	}},
	{regexp.MustCompile(`^(--\S+): expected duration but got "([0-9.]+)".*$`), func(f []string) string {
		return fmt.Sprintf("invalid %s %q: must have a unit: write %ss for seconds", f[1], f[2], f[2])
	}},
	{regexp.MustCompile(`^(--\S+): expected duration but got ("[^"]*").*$`), func(f []string) string {
		return fmt.Sprintf("invalid %s %s: must be a time such as 30s or 5m", f[1], f[2])
	}},
	{regexp.MustCompile(`^(--\S+): expected a valid 64 bit (u?)int but got (".*")$`), func(f []string) string {
		rule := "must be a whole number"
		if f[2] != "" {
			rule += ", 0 or more"
		}
		return fmt.Sprintf("invalid %s %s: %s", f[1], f[3], rule)
	}},
	{regexp.MustCompile(`^(--\S+): fence: invalid input: (".*") is not a token: a decimal number from (\d+) to (\d+) is$`), func(f []string) string {
		return fmt.Sprintf("invalid %s %s: must be a whole number from %s to %s", f[1], f[2], f[3], f[4])
	}},
	{regexp.MustCompile(`^(--\S+): bool value must be .* but got (".*")$`), func(f []string) string {
		return fmt.Sprintf("invalid %s %s: takes no value", f[1], f[2])
	}},
	{regexp.MustCompile(`^expected "([^"]*)"$`), func(f []string) string {
		missing := strings.Fields(strings.ToUpper(strings.NewReplacer("<", "", ">", "").Replace(f[1])))
		if len(missing) == 1 {
			return missing[0] + " is missing"
		}
		return strings.Join(missing, " and ") + " are missing"
	}},
	{regexp.MustCompile(`^<(\w+)> must be one of "(.*)" but got (".*")$`), func(f []string) string {
		return fmt.Sprintf("invalid %s %s: must be %s", strings.ToUpper(f[1]), f[3], listed(strings.Split(f[2], `","`)))
	}},
}

// readable is what the parser says, for people.
func readable(text string) string {
	for _, w := range parserWords {
		if found := w.says.FindStringSubmatch(text); found != nil {
			return w.tell(found)
		}
	}
	return text
}

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
