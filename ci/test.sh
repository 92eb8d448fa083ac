#!/usr/bin/env bash
# All checks, in the order in which they fail fastest. Prints what did not run;
# in CI nothing may be skipped. With -short, what takes long is left to CI; so is the
# race detector, with which the rest takes twice as long.
set -euo pipefail
cd "$(dirname "$0")/.."
short=${1:-} # -short, or nothing
packages_at_once=$([ "$short" = -short ] && echo 2 || echo 1)
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
gotestsum=gotest.tools/gotestsum@v1.13.0
newest_redis=github.com/redis/go-redis/v9@v9.23.0

scratch=$(mktemp -d)
touch "$scratch/left-out"
doing= # the step that is under way

# finish tells what was flaky and what did not run, however the run ends.
finish() {
  local status=$? ran skipped left_out
  ran=$(cat "$scratch"/*/events 2>/dev/null | grep -c '"Action":"pass".*"Test":' || true)
  cat "$scratch"/*/flaky >"$scratch/flaky" 2>/dev/null || true
  cat "$scratch"/*/skipped >"$scratch/skipped" 2>/dev/null || true
  skipped=$(wc -l <"$scratch/skipped") left_out=$(wc -l <"$scratch/left-out")
  local failed=$doing
  if [ -s "$scratch/flaky" ]; then
    step "FLAKY: these tests failed, and passed when they were run again"
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

step "what the tests need"
. ci/tools.sh

modules=()
for module in $(git ls-files '*go.mod' 'go.mod' | sort -u | xargs -n 1 dirname); do
  case $short,$module in
    -short,bench/* | -short,guard/e2e) echo "$module: vet, staticcheck, go test" >>"$scratch/left-out" ;;
    *) modules+=("$module") ;;
  esac
done
GOBIN=$scratch go install "$gotestsum"
GOBIN=$scratch go install "$staticcheck"

step "gofmt"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }

# All modules at once, in a workspace, since most of what they need is the same.
step "vet, staticcheck"
packages=()
for module in "${modules[@]}"; do packages+=("./$module/..."); done
export GOWORK=$scratch/go.work
go work init "${modules[@]}"
go vet "${packages[@]}"
"$scratch/staticcheck" "${packages[@]}"
unset GOWORK

step "the planted bugs: vet"
go vet -tags planted ./...

# All else here builds with the go-redis that go.mod asks for, which is the oldest
# that will do. A program that uses the lock may have a newer one.
if long "${newest_redis##*@}, the newest go-redis: vet, and how it connects"; then
  cp go.mod "$scratch/newest.mod"
  cp go.sum "$scratch/newest.sum"
  go get -modfile="$scratch/newest.mod" "$newest_redis"
  go vet -modfile="$scratch/newest.mod" ./...
  go test -modfile="$scratch/newest.mod" \
    -run 'RefusedConnectionsSayWhy|SettingsOfTheCallersClients|DeadMasterIsToldOnce|RefusedDialKeepsItsError|FailoverClientsAreMasters|DriverRetriesCountOnce|ScriptFlush' .
fi

# A program with the race detector sleeps for a second before it exits, by default.
# Tests start hundreds.
export GORACE=atexit_sleep_ms=0

# suite NAME FOLDER PACKAGES FLAGS...: runs the tests of a module's packages, and leaves
# in $scratch/NAME what ran, what was skipped, and what failed at first.
#
# No result comes from the cache (-count=1), which does not know of files of another
# module: tests of bench read documents.
#
# One package at a time: they run processes and watch clocks, and each is parallel
# in itself, four tests at once, since most wait more than they compute. With -short,
# and so without the race detector, two at a time leave one of two cores idle less.
# gotestsum prints each test when it ends, and at the end what failed whole, and what
# was skipped.
#
# A test that fails is run again, twice at most. One that passes then is flaky: the
# run goes on, and ends with the list of them. Each is a fault to be found, of the
# test or of the library. A data race or a leaked goroutine that shows only now and
# then is one as well, and fails the run at once.
suite() {
  local out=$scratch/$1 folder=$2 packages=$3 package failed=
  mkdir "$out"
  touch "$out/flaky"
  (cd "$folder" && "$scratch/gotestsum" --format testname --jsonfile "$out/events" \
    --rerun-fails=2 --rerun-fails-abort-on-data-race --rerun-fails-report "$out/flaky" \
    --packages "$packages" -- $short "${@:4}" -p "$packages_at_once" -parallel 4 -count=1 -timeout 25m) 2>&1 | tee "$out/log" || failed=yes
  grep '^=== SKIP' "$out/log" >"$out/skipped" || true
  [ -z "$failed" ] || return 1
  if grep -q 'goroutines outlived their clients' "$out/events"; then # see TestMain
    echo "goroutines outlived their clients"
    return 1
  fi
  # What gotestsum finds no test to run again for, it takes for passed: a package
  # that fails without a failing test (its TestMain does), a name that is another
  # one each time. Lines are like "NAME: 2 runs, 1 failures".
  for package in $(sed -n '/"Test":/d; s/.*"Action":"fail","Package":"\([^"]*\)".*/\1/p' "$out/events"); do
    grep -q "^$package\.[A-Z]" "$out/flaky" || { echo "$package failed, and no test of it did"; return 1; }
  done
  if awk '$(NF-3) <= $(NF-1)' "$out/flaky" | grep .; then
    echo "the above never passed"
    return 1
  fi
  if [ -s "$out/skipped" ]; then
    echo "the tests above that were skipped DID NOT RUN"
    [ -z "${CI:-}" ] || return 1
  fi
}

# What computes and watches no clock goes first, without the race detector. Beside the
# rest, at idle priority, it saved no time on two cores, and tests that watch a clock
# were late.
if long "chaos in virtual time: 200 seeds"; then
  # A simulation starts a goroutine for next to every message. With adaptivestackstart they
  # get stacks that are large enough, and need not grow: that is a sixth of its CPU.
  GOGC=400 GODEBUG=adaptivestackstart=1 go test -run 'TestSimulation$' . -v -sim.seed=1 -sim.seeds=200 -sim.length=5 -sim.buckets=64 -timeout 20m | grep -v '^ *--- PASS\|^=== '
fi
if long "the planted bugs"; then
  suite planted . . -run '^TestPlantedBugs$'
fi
if long "the models"; then
  suite models . ./spec/...
fi
if long "the modules, as users get them"; then
  CI=true suite release . ./internal/release
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
  [ -n "$(git ls-files -- "$module/*_test.go")" ] || continue # vet has compiled it
  flags=("${race[@]}")
  case $module in bench/peers/*) flags=() ;; esac # other people's code, which takes minutes to build
  step "$module: go test ${flags[*]}"
  (cd "$module" && go list -export -test -deps "${flags[@]}" ./... >/dev/null) # compiles on all cores, which -p 1 would not
  packages=./...
  if [ "$module" = . ]; then
    flags+=(-skip '^TestPlantedBugs$')
    packages=$(go list ./... | grep -v '/spec\(/\|$\)\|/internal/release$' | paste -sd ' ')
  fi
  suite "module-${module//\//-}" "$module" "$packages" "${flags[@]}"
done

step "the demo, on embedded masters and on redis-server processes"
go run ./cmd/redlock demo --duration 6s --json
go run ./cmd/redlock demo --duration 6s --json --real

if long "speed, against the raw floor in the same run"; then
  (cd bench && go run . -check)
fi
