package redlockotel

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/telemetry"
)

// scope is the instrumentation scope of this package.
const scope = "github.com/redlock-go/redlock/redlockotel"

// Option configures an observer.
type Option func(*config)

type config struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	names   func(string) string
	errs    []error
}

// WithTracerProvider sets the provider of tracers. Default otel.GetTracerProvider().
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(c *config) {
		c.tracers = p
		c.refuse(p == nil, "tracer provider")
	}
}

// WithMeterProvider sets the provider of meters. Default otel.GetMeterProvider().
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) {
		c.meters = p
		c.refuse(p == nil, "meter provider")
	}
}

// WithNames adds the attribute redlock.lock.name to the metrics of calls and holds. Its value is
// the result of the function group for the lock's name, such as "order" for "order:4711". group() must
// return few different values (some dozens), because a series is kept for each value until the process
// ends. For a name with slots, the metrics of a hold get the name of the slot, and those of a call the name
// without it. For a set, the metrics of a hold get the hold's name, and those of the call the first name.
// Default: metrics do not have names.
func WithNames(group func(name string) string) Option {
	return func(c *config) {
		c.names = group
		c.refuse(group == nil, "names")
	}
}

func (c *config) refuse(bad bool, field string) {
	if bad {
		c.errs = append(c.errs, &redlock.OptionError{Field: field, Value: nil, Rule: "must not be nil"})
	}
}

// NewObserver returns an Observer that reports events as spans and metrics. Use
// redlock.Observers to combine it with another one.
//
// Errors: a *redlock.OptionError for each bad option, joined; an error of the meter provider for an
// instrument.
func NewObserver(opts ...Option) (redlock.Observer, error) {
	c := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for i, o := range opts {
		if o == nil {
			c.refuse(true, fmt.Sprintf("options[%d]", i))
			continue
		}
		o(&c)
	}
	if err := errors.Join(c.errs...); err != nil {
		return redlock.Observer{}, err
	}
	record, err := newRecorder(c.meters.Meter(scope), c.names)
	if err != nil {
		return redlock.Observer{}, fmt.Errorf("redlockotel: %w", err)
	}
	// The spans come first: their contexts link measurements to traces.
	return redlock.Observers((&traces{c.tracers.Tracer(scope)}).observer(), telemetry.Observer(record, c.names != nil)), nil
}
