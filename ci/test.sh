#!/usr/bin/env bash
# All checks, in the order in which they fail fastest. Prints what did not run;
# in CI nothing may be skipped. With -short, what takes long is left to CI; so is the
# race detector, with which the rest takes twice as long.
set -euo pipefail
cd "$(dirname "$0")/.."
short=${1:-} # -short, or nothing
packages_at_once=1 tests_at_once=4
[ "$short" != -short ] || packages_at_once=2 tests_at_once=6
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
newest_redis=github.com/redis/go-redis/v9@v9.23.0

scratch=$(mktemp -d)
touch "$scratch"/{left-out,passed,skipped,flaky}
doing= # the step that is under way

# finish tells what was flaky and what did not run, however the run ends.
finish() {
  local status=$? ran skipped left_out failed=$doing
  ran=$(wc -l <"$scratch/passed") skipped=$(wc -l <"$scratch/skipped") left_out=$(wc -l <"$scratch/left-out")
  if [ -s "$scratch/flaky" ]; then
    step "FLAKY: these tests failed, and passed when their package was run again. Each is a fault to be found"
    cat "$scratch/flaky"
  fi
  if [ "$skipped" -gt 0 ]; then
    step "these tests DID NOT RUN"
    cat "$scratch/skipped"
  fi
  if [ "$left_out" -gt 0 ]; then
    step "these checks DID NOT RUN: make ci runs them"
    cat "$scratch/left-out"
  fi
  if [ "$status" != 0 ]; then
    step "FAILED in the step '$failed'. What comes after it DID NOT RUN"
  elif [ "$skipped" -gt 0 ] || [ "$left_out" -gt 0 ]; then
    step "passed: $ran tests. DID NOT RUN: $skipped tests and $left_out checks, which stand above"
  else
    step "all checks passed: $ran tests, and none was skipped"
  fi
  rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT # else finish would see the status of the last command
trap 'exit 143' TERM

# step NAME: prints the time since the start, and what all processes have computed since then.
step() {
  doing=$*
  times >"$scratch/times" # the second line is of the children that ended: 1m2.345s 0m6.789s
  printf '== %d:%02d (CPU %s) %s\n' $((SECONDS / 60)) $((SECONDS % 60)) \
    "$(awk -F '[ms ]+' 'NR == 2 { all = 60 * $1 + $2 + 60 * $3 + $4; printf "%d:%02d", all / 60, all % 60 }' "$scratch/times")" "$*"
}

# long NAME: is step for one that -short leaves out, and reports whether it is to run.
long() {
  [ "$short" != -short ] || { echo "$1" >>"$scratch/left-out"; return 1; }
  step "$1"
}

# patient COMMAND...: runs it, and says every 5 s that it goes on.
patient() {
  local status=0 ticker
  while sleep 5 >&- 2>&- && kill -0 $$; do
    printf '... %d:%02d %s goes on\n' $((SECONDS / 60)) $((SECONDS % 60)) "$doing"
  done &
  ticker=$!
  "$@" || status=$?
  kill $ticker
  wait $ticker 2>/dev/null || true
  return $status
}

step "what the tests need"
. ci/tools.sh
patient go build -o "$scratch/suite" ./internal/suite

modules=()
folders=$(ci/modules.sh)
for module in $folders; do
  case $short,$module in
    -short,bench | -short,bench/* | -short,guard/e2e | -short,guard/sqlguard | -short,internal/*) echo "$module: vet, go test" >>"$scratch/left-out" ;;
    *) modules+=("$module") ;;
  esac
done

step "gofmt"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }

# Each module for itself: its tests then find built what it needs. In a workspace it needs other versions.
step "vet"
for module in "${modules[@]}"; do
  (cd "$module" && patient go vet ./...)
done
if long "staticcheck"; then
  GOBIN=$scratch patient go install "$staticcheck"
  for module in "${modules[@]}"; do
    (cd "$module" && patient "$scratch/staticcheck" ./...)
  done
fi

# suite FOLDER PACKAGES FLAGS...: runs the tests of a module's packages, and judges them: see internal/suite.
#
# No result comes from the cache (-count=1), which does not know of files of another
# module: tests of bench read documents.
#
# One package at a time: they run processes and watch clocks, and each is parallel
# in itself, four tests at once, since most wait more than they compute. With -short,
# and so without the race detector, two at a time, and six tests in each, leave one of
# two cores idle less.
suite() {
  "$scratch/suite" -dir "$1" -report "$scratch" "$2" $short -p "$packages_at_once" -parallel "$tests_at_once" -count=1 -timeout 25m "${@:3}"
}

# A red one of these would cost the time of all other tests.
if long "how the code is written"; then
  suite . . -run '^Test(CommentsWrapAtOneWidth|ExportedNames|Imports|Dependencies)$'
  suite . ./docs
fi

# All else here builds with the go-redis that go.mod asks for, which is the oldest
# that will do. A program that uses the lock may have a newer one.
if long "${newest_redis##*@}, the newest go-redis: vet, and how it connects"; then
  cp go.mod "$scratch/newest.mod"
  cp go.sum "$scratch/newest.sum"
  go get -modfile="$scratch/newest.mod" "$newest_redis"
  patient go vet -modfile="$scratch/newest.mod" ./...
  suite . '. ./internal/master ./internal/faulttest' -modfile="$scratch/newest.mod" \
    -run 'RefusedConnectionsSayWhy|SettingsOfTheCallersClients|DeadMasterIsToldOnce|RefusedDialKeepsItsError|FailoverClientsAreMasters|DriverRetriesCountOnce|ScriptFlush'
fi

# A program with the race detector sleeps for a second before it exits, by default.
# Tests start hundreds.
export GORACE=atexit_sleep_ms=0

# What computes and watches no clock goes first, without the race detector. Beside the
# rest, at idle priority, it saved no time on two cores, and tests that watch a clock
# were late.
if long "chaos in virtual time: 200 seeds"; then
  # A simulation starts a goroutine for next to every message. With adaptivestackstart they
  # get stacks that are large enough, and need not grow: that is a sixth of its CPU.
  GOGC=400 GODEBUG=adaptivestackstart=1 suite . . -v -run 'TestSimulation$' -sim.seed=1 -sim.seeds=200 -sim.length=5 -sim.buckets=64
fi
if long "the planted bugs"; then
  suite . . -run '^TestPlantedBugs$'
fi
if long "the models"; then
  suite . ./spec/...
fi
if long "the modules, as users get them"; then
  CI=true suite . ./internal/release
fi

# The Lua interpreter of the masters in virtual time is built without the race
# detector. It runs one script at a time under the lock of its master, and with the
# detector it takes a third of the time of all tests.
race=(-race '-gcflags=github.com/yuin/gopher-lua/...=-race=false')
if [ "$short" = -short ]; then
  race=()
  echo "all tests with the race detector" >>"$scratch/left-out"
fi
for module in "${modules[@]}"; do
  tests=$(git grep -lE '^func (Test|Example|Fuzz)' -- "$module/*_test.go") || [ $? = 1 ]
  [ -n "$tests" ] || continue # vet has compiled it: peers have code of guides alone
  flags=("${race[@]}")
  case $module in bench/peers/*) flags=() ;; esac # other people's code, which takes minutes to build
  step "$module: go test ${flags[*]}"
  # Compiles on all cores, which -p 1 would not.
  (cd "$module" && patient bash -c 'go list -export -test -deps "$@" ./... >/dev/null' list "${flags[@]}")
  packages=./...
  if [ "$module" = . ]; then
    flags+=(-skip '^TestPlantedBugs$')
    elsewhere='/spec\(/\|$\)\|/internal/release$'
    if [ "$short" = -short ]; then
      elsewhere+='\|/internal/\(mutation\|suite\|traps\)$'
      echo "the tools that judge the tests (internal/mutation, suite, traps): go test" >>"$scratch/left-out"
    fi
    packages=$(go list ./... | grep -v "$elsewhere")
  fi
  suite "$module" "$packages" "${flags[@]}"
done

step "the demo, on embedded masters and on redis-server processes"
patient go build -o "$scratch/demo" ./cmd/redlock-demo
"$scratch/demo" -duration 6s -json
if have redis-server; then
  "$scratch/demo" -duration 6s -json -real
else
  echo "the demo on redis-server processes" >>"$scratch/left-out"
fi

if long "speed, against the raw floor in the same run"; then
  (cd bench && go run . -check)
fi
