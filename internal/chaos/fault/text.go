package fault

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// param is one parameter of a fault: how it is printed and parsed.
type param struct {
	print func(Fault) string
	parse func(*Fault, string) error
}

var (
	masters = param{
		func(f Fault) string { return f.Masters.String() },
		func(f *Fault, text string) (err error) { f.Masters, err = ParseMasters(text); return err },
	}
	spare = param{
		func(f Fault) string { return f.Spare.String() },
		func(f *Fault, text string) (err error) { f.Spare, err = ParseMasters(text); return err },
	}
	clients = param{
		func(f Fault) string { return string(f.Clients) },
		func(f *Fault, text string) (err error) { f.Clients, err = parseClients(text); return err },
	}
	lock = param{
		func(f Fault) string { return fmt.Sprintf("n%d", f.Lock) },
		func(f *Fault, text string) (err error) {
			number, named := strings.CutPrefix(text, "n")
			if f.Lock, err = strconv.Atoi(number); !named || err != nil || f.Lock < 0 {
				return fmt.Errorf("%q is no lock, such as n0", text)
			}
			return nil
		},
	}
	percent = param{
		func(f Fault) string { return strconv.FormatFloat(f.Percent, 'g', -1, 64) + "%" },
		func(f *Fault, text string) (err error) {
			number, found := strings.CutSuffix(text, "%")
			f.Percent, err = strconv.ParseFloat(number, 64)
			if !found || err != nil || !(-100 <= f.Percent && f.Percent <= 1000) {
				return fmt.Errorf("%q is no percentage from -100%% to 1000%%", text)
			}
			return nil
		},
	}
	data      = word(func(f *Fault) *Data { return &f.Data }, Kept, Lost)
	passwords = word(func(f *Fault) *Passwords { return &f.Passwords }, Old, OldNew, New)
	direction = word(func(f *Fault) *Direction { return &f.Direction }, ToServer, ToClient, Both)
	count     = number(func(f *Fault) *int { return &f.Bytes }, 0)
	every     = number(func(f *Fault) *int { return &f.Every }, 1)
	offset    = duration(func(f *Fault) *time.Duration { return &f.Offset }, true)
	period    = duration(func(f *Fault) *time.Duration { return &f.Period }, false)
	delay     = duration(func(f *Fault) *time.Duration { return &f.Delay }, false)
	killed    = delay
	span      = duration(func(f *Fault) *time.Duration { return &f.Span }, false)
)

func word[W ~string](of func(*Fault) *W, words ...W) param {
	return param{
		func(f Fault) string { return string(*of(&f)) },
		func(f *Fault, text string) error {
			for _, w := range words {
				if text == string(w) {
					*of(f) = w
					return nil
				}
			}
			return fmt.Errorf("%q is none of %q", text, words)
		},
	}
}

func number(of func(*Fault) *int, least int) param {
	return param{
		func(f Fault) string { return strconv.Itoa(*of(&f)) },
		func(f *Fault, text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n < least {
				return fmt.Errorf("%q is no number from %d", text, least)
			}
			*of(f) = n
			return nil
		},
	}
}

func duration(of func(*Fault) *time.Duration, signed bool) param {
	return param{
		func(f Fault) string { return of(&f).String() },
		func(f *Fault, text string) error {
			d, err := time.ParseDuration(text)
			if err != nil || d < 0 && !signed {
				return fmt.Errorf("%q is no duration, such as 1.5s", text)
			}
			*of(f) = d
			return nil
		},
	}
}

// String returns the fault in the form that Parse reads.
func (f Fault) String() string {
	var texts []string
	for _, p := range kinds[f.Kind].params {
		texts = append(texts, p.print(f))
	}
	return fmt.Sprintf("%s(%s)", f.Kind, strings.Join(texts, ","))
}

// KindOf returns the kind of the fault that has this text, even if this program has no such kind.
func KindOf(text string) Kind {
	kind, _, _ := strings.Cut(text, "(")
	return Kind(kind)
}

// Parse parses the result of String.
func Parse(text string) (Fault, error) {
	fail := func(err error) (Fault, error) { return Fault{}, fmt.Errorf("fault: %q: %w", text, err) }
	name, rest, opened := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(rest, ")")
	if !opened || !closed {
		return fail(fmt.Errorf("it must look like kind(parameters)"))
	}
	f := Fault{Kind: Kind(name)}
	k, known := kinds[f.Kind]
	if !known {
		return fail(fmt.Errorf("there is no kind %q", name))
	}
	texts := strings.Split(inner, ",")
	if len(texts) != len(k.params) {
		return fail(fmt.Errorf("%d parameters, %s has %d", len(texts), name, len(k.params)))
	}
	for i, p := range k.params {
		if err := p.parse(&f, texts[i]); err != nil {
			return fail(err)
		}
	}
	if f.Kind == Cut && f.Direction == Both {
		return fail(fmt.Errorf("a cut has one direction"))
	}
	if f.Kind == Replace && (f.Masters.Count() != 1 || f.Spare.Count() != 1) {
		return fail(fmt.Errorf("one master is replaced, by one spare"))
	}
	if f.Spare.Count() > 1 {
		return fail(fmt.Errorf("it is one server, not several"))
	}
	return f, nil
}
