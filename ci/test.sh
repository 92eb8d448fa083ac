#!/usr/bin/env bash
# All checks, in the order in which they fail fastest. Prints what could not run;
# in CI nothing may be skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
gotestsum=gotest.tools/gotestsum@v1.13.0

. ci/tools.sh

modules=$(git ls-files '*go.mod' 'go.mod' | sort -u | xargs -n 1 dirname)

echo "== gofmt"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }

for module in $modules; do
  echo "== $module: vet, staticcheck"
  (cd "$module" && go vet ./... && go run "$staticcheck" ./...)
done

# One package at a time (-p 1): they run processes and watch clocks, and each is
# parallel in itself. gotestsum prints what failed whole, and what was skipped.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for module in $modules; do
  echo "== $module: go test -race"
  (cd "$module" && go run "$gotestsum" --format pkgname -- -race -p 1 -timeout 15m ./...) 2>&1 | tee "$log"
  if grep -q '^=== SKIP' "$log"; then
    echo "the tests above that were skipped DID NOT RUN"
    [ -z "${CI:-}" ] || exit 1
  fi
done

echo "== the demo, on embedded masters and on redis-server processes"
go run ./cmd/redlock demo --duration 6s --json
go run ./cmd/redlock demo --duration 6s --json --real

echo "== speed, against the raw floor in the same run"
(cd bench && go run . -check)

echo "== all checks passed"
