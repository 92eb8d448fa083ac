package redlockotel_test

import (
	"context"
	"fmt"
	"log"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/redlockotel"
)

// Record spans and metrics of a lock. A service passes its own providers, or sets them with
// otel.SetTracerProvider and otel.SetMeterProvider.
func Example() {
	urls, stop := harness.URLs(3)
	defer stop()
	spans, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	observer, err := redlockotel.NewObserver(
		redlockotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))),
		redlockotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	if err != nil {
		log.Fatal(err)
	}
	client, err := redlock.Open(urls, redlock.WithObserver(observer))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	if err := client.Do(ctx, "payroll", func(context.Context, fence.Token) error { return nil }); err != nil {
		log.Fatal(err)
	}

	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			fmt.Println(m.Name, sum.DataPoints[0].Value)
		}
	}
	// Output:
	// redlock lock
	// redlock hold
	// redlock unlock
	// redlock.acquisitions 1
	// redlock.failed_attempts 0
	// redlock.losses 0
	// redlock.renewals 0
	// redlock.clock.jumps 0
	// redlock.master.refusals 0
	// redlock.members.outages 0
	// redlock.held 0
}
