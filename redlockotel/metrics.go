package redlockotel

import (
	"context"
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlock-go/redlock/telemetry"
)

// newRecorder makes the instruments, and returns the Recorder that uses them. If names is nil, metrics do not have the
// names of locks.
func newRecorder(m metric.Meter, names func(string) string) (telemetry.Recorder, error) {
	records := map[*telemetry.Instrument]func(context.Context, float64, metric.MeasurementOption){}
	var errs []error
	for _, i := range telemetry.Instruments {
		unit, about := metric.WithUnit(i.Unit), metric.WithDescription(i.About)
		var err error
		switch i.Kind {
		case telemetry.Histogram:
			var h metric.Float64Histogram
			h, err = m.Float64Histogram(i.Name, unit, about, metric.WithExplicitBucketBoundaries(i.Bounds...))
			records[i] = func(ctx context.Context, v float64, o metric.MeasurementOption) { h.Record(ctx, v, o) }
		case telemetry.Counter:
			var c metric.Int64Counter
			c, err = m.Int64Counter(i.Name, unit, about)
			records[i] = func(ctx context.Context, v float64, o metric.MeasurementOption) { c.Add(ctx, int64(v), o) }
		case telemetry.UpDown:
			var c metric.Int64UpDownCounter
			c, err = m.Int64UpDownCounter(i.Name, unit, about)
			records[i] = func(ctx context.Context, v float64, o metric.MeasurementOption) { c.Add(ctx, int64(v), o) }
		case telemetry.Gauge:
			var g metric.Int64Gauge
			g, err = m.Int64Gauge(i.Name, unit, about)
			records[i] = func(ctx context.Context, v float64, o metric.MeasurementOption) { g.Record(ctx, int64(v), o) }
		}
		errs = append(errs, err)
	}
	return func(ctx context.Context, i *telemetry.Instrument, value float64, lock string, values ...string) {
		var attrs []attribute.KeyValue
		for n, label := range i.Labels {
			number, err := strconv.Atoi(values[n])
			switch {
			case values[n] == "":
			case label == telemetry.Port && err == nil:
				attrs = append(attrs, portKey.Int(number))
			default:
				attrs = append(attrs, attribute.String(label, values[n]))
			}
		}
		if names != nil && lock != "" {
			attrs = append(attrs, nameKey.String(names(lock)))
		}
		records[i](ctx, value, metric.WithAttributes(attrs...))
	}, errors.Join(errs...)
}
