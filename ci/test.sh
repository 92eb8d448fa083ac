#!/usr/bin/env bash
# Runs tests. At the end it lists what was flaky, what was skipped, and where the time went; the last line counts the tests. It
# installs nothing: ci/tools.sh does. In CI a skipped test fails the run, except with short.
#
#   ci/test.sh short        tests of the library and the command, without the long ones, and the demo: make test
#   ci/test.sh race         the packages with concurrent code, with the race detector: make race
#   ci/test.sh rest         all other tests
#   ci/test.sh simulation   tests that compute: chaos in virtual time, the planted bugs, the models
#   ci/test.sh real         chaos on real masters; then tests that need the machine for themselves: the demo, speed
#   ci/test.sh all          lint, and all of these but short: make ci
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-}
gotestsum=gotest.tools/gotestsum@v1.13.0
module=github.com/redlock-go/redlock
# The race detector does not check the Lua interpreter of the masters that run in a test's process. The interpreter runs one script at a
# time, and the checks would take a third of the time.
race=(-race '-gcflags=github.com/yuin/gopher-lua/...=-race=false')
GOFLAGS="$(go env GOFLAGS) -gcflags=all=-dwarf=false" # without data for debuggers: this saves a fifth of the time of compiling
export GOFLAGS
export GORACE=atexit_sleep_ms=0 # by default a program with the race detector sleeps for a second before it exits
[ ! -d bin/servers ] || export REDLOCK_SERVERS=$PWD/bin/servers

scratch=$(mktemp -d)
step='' began=0 broken=() # the present step, its start, and the failed steps
beside=                   # the process group of the checks that run beside the tests
mkdir "$scratch/beside"
touch "$scratch"/{again,steps}

# begin NAME: ends the present step, and begins another.
begin() {
  [ -z "$step" ] || echo "$((SECONDS - began)) $step" >>"$scratch/steps"
  step=$* began=$SECONDS
  [ -z "$step" ] || printf '== %d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$step"
}

# longest TITLE: reads lines "SECONDS WHAT", and prints the ten with the most seconds.
longest() {
  sort -rn | awk -v title="$1" 'NR == 1 { print title } NR <= 10 && $1 >= 1 { s = $1; sub(/^[^ ]+ /, ""); printf "%6.0f s  %s\n", s, $0 }'
}

# events prints the results of tests and packages in all runs, as lines ACTION PACKAGE SECONDS [TEST].
events() {
  find "$scratch" -name 'run.*' | sort -V | xargs -r cat |
    sed -nE 's/^\{"Time":"[^"]*","Action":"(pass|fail|skip)","Package":"([^"]*)"(,"Test":"(([^"\\]|\\.)*)")?,"Elapsed":([-0-9.e]+).*/\1 \2 \6 \4/p'
}

finish() {
  local status=$? passed failed skipped
  [ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true
  [ "$status" = 0 ] || broken+=("$step")
  begin
  events >"$scratch/events"
  # If a test ran several times, its last result counts.
  awk 'NF > 3 { at = $1; $1 = $3 = ""; last[$0] = at } END { for (t in last) print last[t], t }' "$scratch/events" >"$scratch/tests"
  read -r passed failed skipped < <(awk '{ n[$1]++ } END { print n["pass"] + 0, n["fail"] + 0, n["skip"] + 0 }' "$scratch/tests")
  if [ -s "$scratch/again" ]; then
    echo "== these tests failed and were run again by themselves. One that passed then is FLAKY, which is a fault to be found"
    cat "$scratch/again"
  fi
  if [ "$skipped" -gt 0 ] && [ -n "${CI:-}" ] && [ "$what" != short ]; then
    broken+=("skipped tests: in CI none may be")
    grep '^skip' "$scratch/tests"
  fi
  echo "== where the time went, of $((SECONDS / 60)):$(printf %02d $((SECONDS % 60)))"
  longest steps <"$scratch/steps"
  awk 'NF == 3 && $1 != "skip" { print $3, $2 }' "$scratch/events" | longest packages
  awk 'NF == 4 && $4 !~ /\// && $1 != "skip" { print $3, $2 "." $4 }' "$scratch/events" | longest tests
  rm -rf "$scratch"
  if [ ${#broken[@]} -gt 0 ]; then
    printf '== FAILED: %s\n' "${broken[@]}"
    [ "$failed" -gt 0 ] || failed=${#broken[@]}
    status=1
  fi
  echo "$passed passed, $failed failed, $skipped skipped"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# check NAME COMMAND...: runs COMMAND as a step. If it fails, the other steps still run.
check() {
  begin "$1"
  "${@:2}" || broken+=("$step")
}

# tests NAME PACKAGES FLAGS...: runs tests, as a step. Failed tests run again, without the others, twice at most, unless AGAIN=no.
tests() {
  local run again=() packages=$2 whole
  begin "$1"
  run=$scratch/run.$(date +%s%N)
  [ "${AGAIN:-}" = no ] || again=(--rerun-fails=2 --rerun-fails-max-failures=40 --rerun-fails-abort-on-data-race "--rerun-fails-report=$scratch/again.one")
  go run "$gotestsum" --format testname --format-icons text --jsonfile "$run" "${again[@]}" --packages "$packages" -- \
    -count=1 -timeout 20m "${@:3}" || broken+=("$step")
  cat "$scratch/again.one" >>"$scratch/again" 2>/dev/null || true
  rm -f "$scratch/again.one"
  # gotestsum ignores these failures if the failed tests pass when they run again.
  if grep -q 'goroutines outlived their clients' "$run"; then
    broken+=("$step: goroutines outlived their clients")
  fi
  whole=$(grep -cE '"Package":"[^"]*","Output":"FAIL\\n"' "$run" || true)
  if [ "$(grep -cE '"Action":"fail","Package":"[^"]*","Elapsed"' "$run" || true)" -gt "$whole" ]; then
    broken+=("$step: a package failed beside its tests, or ended before the last of them")
  fi
  if grep -q 'warning: no tests to run' "$run"; then
    broken+=("$step: -run ran nothing")
  fi
}

# packages MODULES: prints the packages of modules that have tests.
packages() {
  # shellcheck disable=SC2046 # a pattern a word
  go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $(sed 's#.*#./&/...#' <<<"$1")
}

# concurrent matches the packages whose own code starts goroutines.
concurrent="^$module(/(admin|fence|leader|redlocktest|telemetry|guard/httpguard|redlockotel|cmd/redlock/agent|internal/(acquire|announce|ask|clock|embedded|faultproxy|faulttest|lease|master|membership|quorum|unwind|waitqueue)))?\$"

# versions matches tests that run without the race detector: those on servers of each version, which mostly wait for the servers, and the
# test of many clients.
versions='TestBehaviourOnEachServerLine|TestRights.*|TestAddMemberUnderLoad'

short() {
  local all
  # Only CI runs the tests of the modules and packages that are left out here.
  all=$(packages "$(ci/modules.sh | grep -vE '^(bench|internal|guard/e2e|guard/sqlguard)(/|$)')" | grep -vE "^$module/(spec(/|$)|internal/release$)")
  tests "tests" "${all//$'\n'/ }" -short -p 2 -parallel 6
  demo
}

raced() {
  local all
  all=$(packages "$(ci/modules.sh everyday)" | grep -E "$concurrent")
  # This compiles on all cores. The tests run with -p 1, one package at a time, because they are parallel, and depend on the clock.
  # shellcheck disable=SC2086
  check "compiles with the race detector" bash -c 'go list -export -test -deps "$@" >/dev/null' _ "${race[@]}" $all
  tests "with the race detector" "${all//$'\n'/ }" "${race[@]}" -vet=off -p 1 -parallel 4 -skip "^(TestSimulation|TestPlantedBugs|TestChaos|TestChaosScenarios|$versions)\$"
}

rest() {
  local all
  all=$(packages "$(ci/modules.sh everyday)" | grep -vE "$concurrent" | grep -vE "^$module/spec(/|$)")
  tests "all other tests" "${all//$'\n'/ }" -vet=off -p 2 -parallel 4
  tests "each version of the servers" "$module $module/admin $module/internal/faulttest" -vet=off -p 1 -parallel 8 -run "^($versions)\$"
}

# AGAIN=no: a violation that the simulation finds counts, even if another run of the seed finds none. The simulation starts a goroutine
# for nearly every message. With adaptivestackstart, goroutines begin with stacks that are large enough.
simulation() {
  GOGC=400 GODEBUG=adaptivestackstart=1 AGAIN=no tests "chaos in virtual time: 60 seeds" "$module" -vet=off -run '^TestSimulation$' -args -sim.seed=1 -sim.seeds=60 -sim.length=5 -sim.buckets=64
  AGAIN=no tests "the planted bugs" "$module" -vet=off -run '^TestPlantedBugs$'
  AGAIN=no tests "the models" "$module/spec $module/spec/register" -vet=off
}

# begin_beside begins the checks that do not depend on the clock. They use the processor time that the tests leave. Lint is first,
# because it compiles code that the other checks need.
begin_beside() {
  local idle=(nice -n 19)
  ! chrt --idle 0 true 2>/dev/null || idle=(chrt --idle 0) # gets no share of a core that a test can use
  # shellcheck disable=SC2016 # the inner shell expands them
  setsid "${idle[@]}" bash -c '
    run() { local status=0; "${@:2}" >"$0/$1" 2>&1 || status=$?; echo "$status" >"$0/$1.status"; }
    run lint ci/lint.sh
    run simulation ci/test.sh simulation' "$scratch/beside" &
  beside=$!
}

# ended PART: waits for a part of the checks beside the tests, and prints its output.
ended() {
  until [ -e "$scratch/beside/$1.status" ]; do
    kill -0 "$beside" || return 1
    sleep 0.5
  done
  cat "$scratch/beside/$1"
  return "$(cat "$scratch/beside/$1.status")"
}

demo() { check "the demo" go run ./cmd/redlock-demo -duration 6s -json; }

chaos() { tests "chaos on real masters" "$module" -vet=off -run '^TestChaos$' -args -chaos.engine=process -chaos.duration=60s; }

alone() {
  demo
  check "speed, against the raw floor in the same run" bash -c 'cd bench && exec go run . -check'
}

case $what in
  short) needs='test' ;;
  race) needs=race ;;
  rest | simulation | real | all) needs=ci ;;
  *)
    trap - EXIT
    echo "usage: ci/test.sh short|race|rest|simulation|real|all" >&2
    exit 2
    ;;
esac
ci/tools.sh -n "$needs"
case $what in
  short) short ;;
  race) raced ;;
  rest) rest ;;
  simulation) simulation ;;
  real)
    chaos
    alone
    ;;
  all)
    begin_beside
    raced
    rest
    chaos
    check "lint, which ran beside" ended lint
    check "the rest of what computes" ended simulation
    beside=
    alone
    ;;
esac
