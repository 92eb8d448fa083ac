#!/usr/bin/env bash
# Runs the checks that take too long for each change. The results are in the folder afterwards.
#
#   ci/nightly.sh mutants FOLDER      changes one operator at a time in four packages, and counts the changes that no test notices
#   ci/nightly.sh simulation FOLDER   chaos in virtual time, with 500 new seeds
#   ci/nightly.sh long FOLDER         the larger bounds of the models, chaos in containers and each of its scenarios, all modules as
#                                     users get them
#   ci/nightly.sh peers FOLDER        lint and tests of the peers of bench, and vet for other platforms
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-} out=${2:-}
[ -n "$out" ] || { echo "usage: ci/nightly.sh mutants|simulation|long|peers FOLDER" >&2; exit 2; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
exec > >(tee "$out/log") 2>&1

# tests FLAGS...: runs tests, without running failed ones again.
tests() { go run gotest.tools/gotestsum@v1.13.0 --format testname --format-icons text -- -count=1 "$@"; }

case $what in
  mutants)
    # Each mutant is compiled in a copy of the repository: -trimpath lets it use the build cache. The other flags shorten a build.
    export GOFLAGS="-trimpath -vet=off -ldflags=-s '-gcflags=github.com/redlock-go/redlock/...=-N -l -dwarf=false'"
    # A mutant that no test notices does not fail this run, because it may change only speed or a text.
    for package in lease quorum waitqueue membership; do
      go run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash --workers 2 --timeout-coefficient 3 \
        --invert-logical --invert-loopctrl --output "$out/$package.json" --output-statuses lt "./internal/$package"
    done
    ;;
  simulation)
    GOGC=400 GODEBUG=adaptivestackstart=1 tests -timeout 120m -run '^TestSimulation$' . -args -sim.seed="$(date +%s)" -sim.seeds=500 \
      -sim.length=5 -sim.buckets=64 -sim.out="$out"
    ;;
  long)
    export CI=true REDLOCK_LONG=1
    ci/tools.sh ci
    export REDLOCK_SERVERS=$PWD/bin/servers
    tests -timeout 120m ./spec/... ./internal/release
    tests -timeout 60m -run '^(TestChaos|TestChaosScenarios)$' . -args -chaos.engine=docker -chaos.out="$out"
    ;;
  peers)
    export CI=true
    ci/tools.sh ci
    ci/lint.sh all
    ci/platforms.sh
    tests ./bench/peers/etcd/... ./bench/peers/leaderelection/... ./bench/peers/rueidis/...
    ;;
  *)
    echo "$what: there is no such run" >&2
    exit 2
    ;;
esac
