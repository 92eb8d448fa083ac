#!/usr/bin/env bash
# What takes long, and CI runs once a night. What was found is in the folder afterwards.
#
#   ci/nightly.sh mutation FOLDER     changes one operator of the library at a time: docs/CHAOS.md
#   ci/nightly.sh simulation FOLDER   chaos in virtual time, with seeds that nobody has played yet
#   ci/nightly.sh traps FOLDER        puts the bugs of docs/TRAPS.md back
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-} out=${2:-}
[ -n "$out" ] || { echo "usage: ci/nightly.sh mutation|simulation|traps FOLDER" >&2; exit 2; }
mkdir -p "$out"

case $what in
  mutation)
    short=-short # redis-server is what judges need beside Go
    . ci/tools.sh
    go run ./internal/mutation -workers 2 2>"$out/mutants" | tee "$out/results"
    ;;
  simulation)
    GOGC=400 GODEBUG=adaptivestackstart=1 go run ./internal/suite . -v -run 'TestSimulation$' -sim.seed="$(date +%s)" -sim.seeds=10000 \
      -sim.length=5 -sim.buckets=64 -sim.out="$PWD/$out" -timeout 220m 2>&1 | tee "$out/log" | grep -v '^ *--- PASS\|^PASS .*/seed'
    ;;
  traps)
    ci/traps.sh 2>&1 | tee "$out/log"
    ;;
  *)
    echo "$what: there is no such run" >&2
    exit 2
    ;;
esac
