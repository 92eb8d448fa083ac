package redlockotel_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"

	"github.com/redlock-go/redlock/redlockotel"
)

// conventional are the attributes of the semantic conventions that are used. They are stable there.
var conventional = []string{"error.type", "server.address", "server.port"}

func ownOrConventional(key string) bool {
	return strings.HasPrefix(key, "redlock.") || slices.Contains(conventional, key)
}

// Each attribute is the library's own, or one of the semantic conventions.
func TestAttributesAreOwnOrConventional(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	must(t, err)
	key := regexp.MustCompile(`attribute\.\w+\("([^"]*)"`)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		must(t, err)
		for _, match := range key.FindAllStringSubmatch(string(source), -1) {
			found++
			if !ownOrConventional(match[1]) {
				t.Errorf("%s: the attribute %s is another's", file, match[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("%d attributes", found)
	}
}

// So are those of the spans and events of a real run. The events of failures have the message.
func TestAttributesOfARun(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t)
	nothing := func(*testing.T, *prometheus.Registry) {}
	eventful(t, []redlockotel.Option{redlockotel.WithTracerProvider(s.tracers)}, nothing, nothing)
	messages := map[string]int{}
	check := func(where string, all []attribute.KeyValue) {
		for _, a := range all {
			if !ownOrConventional(string(a.Key)) {
				t.Errorf("%s: the attribute %s is another's", where, a.Key)
			}
			if a.Key == "redlock.error.message" && a.Value.AsString() != "" {
				messages[where]++
			}
		}
	}
	for _, span := range s.spans.GetSpans() {
		check(span.Name, span.Attributes)
		for _, event := range span.Events {
			check(event.Name, event.Attributes)
		}
	}
	for _, event := range []string{"redlock.attempt.failed", "redlock.renewal.failed"} {
		if messages[event] == 0 {
			t.Errorf("no %s has a message", event)
		}
	}
}
