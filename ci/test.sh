#!/usr/bin/env bash
# All checks, in the order in which they fail fastest. Prints what could not run;
# in CI nothing may be skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
gotestsum=gotest.tools/gotestsum@v1.13.0
newest_redis=github.com/redis/go-redis/v9@v9.23.0

step() { printf '== %d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }

step "what the tests need"
. ci/tools.sh

modules=$(git ls-files '*go.mod' 'go.mod' | sort -u | xargs -n 1 dirname)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
GOBIN=$scratch go install "$gotestsum"
GOBIN=$scratch go install "$staticcheck"

step "gofmt"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }

# All modules at once, in a workspace, since most of what they need is the same.
step "vet, staticcheck"
packages=()
for module in $modules; do packages+=("./$module/..."); done
export GOWORK=$scratch/go.work
go work init $modules
go vet "${packages[@]}"
"$scratch/staticcheck" "${packages[@]}"
unset GOWORK

step "the planted bugs: vet"
go vet -tags planted ./...

# All else here builds with the go-redis that go.mod asks for, which is the oldest
# that will do. A program that uses the lock may have a newer one.
step "${newest_redis##*@}, the newest go-redis: vet, and how it connects"
cp go.mod "$scratch/newest.mod"
cp go.sum "$scratch/newest.sum"
go get -modfile="$scratch/newest.mod" "$newest_redis"
go vet -modfile="$scratch/newest.mod" ./...
go test -modfile="$scratch/newest.mod" \
  -run 'RefusedConnectionsSayWhy|SettingsOfTheCallersClients|DeadMasterIsToldOnce|RefusedDialKeepsItsError|FailoverClientsAreMasters|DriverRetriesCountOnce|ScriptFlush' .

step "chaos in virtual time: 200 seeds"
GOGC=400 go test -run 'TestSimulation$' . -v -sim.seed=1 -sim.seeds=200 -sim.length=5 -sim.buckets=64 -timeout 20m | grep -v '^ *--- PASS\|^=== '

# No result comes from the cache (-count=1), which does not know of files of another
# module: tests of bench read documents.
#
# One package at a time (-p 1): they run processes and watch clocks, and each is
# parallel in itself, four tests at once, since most wait more than they compute.
# gotestsum prints each test when it ends, and at the end what failed whole, and what
# was skipped.
#
# The Lua interpreter of the masters in virtual time is built without the race
# detector. It runs one script at a time under the lock of its master, and with the
# detector it takes a third of the time of all tests.
#
# A test that fails is run again, twice at most. One that passes then is flaky: the
# run goes on, and ends with the list of them. Each is a fault to be found, of the
# test or of the library. A data race or a leaked goroutine that shows only now and
# then is one as well, and fails the run at once.
ran=0
for module in $modules; do
  [ -n "$(git ls-files -- "$module/*_test.go")" ] || continue # vet has compiled it
  race=-race
  case $module in bench/peers/*) race= ;; esac # other people's code, which takes minutes to build
  step "$module: go test $race"
  : >"$scratch/rerun"
  (cd "$module" && "$scratch/gotestsum" --format testname --jsonfile "$scratch/events" \
    --rerun-fails=2 --rerun-fails-abort-on-data-race --rerun-fails-report "$scratch/rerun" \
    --packages ./... -- $race '-gcflags=github.com/yuin/gopher-lua/...=-race=false' -p 1 -parallel 4 -count=1 -timeout 25m) 2>&1 | tee "$scratch/log"
  if grep -q 'goroutines outlived their clients' "$scratch/events"; then # see TestMain
    echo "goroutines outlived their clients"
    exit 1
  fi
  # What gotestsum finds no test to run again for, it takes for passed: a package
  # that fails without a failing test (its TestMain does), a name that is another
  # one each time. Lines are like "NAME: 2 runs, 1 failures".
  for package in $(sed -n '/"Test":/d; s/.*"Action":"fail","Package":"\([^"]*\)".*/\1/p' "$scratch/events"); do
    grep -q "^$package\.[A-Z]" "$scratch/rerun" || { echo "$package failed, and no test of it did"; exit 1; }
  done
  if awk '$(NF-3) <= $(NF-1)' "$scratch/rerun" | grep .; then
    echo "the above never passed"
    exit 1
  fi
  cat "$scratch/rerun" >>"$scratch/flaky"
  ran=$((ran + $(grep -c '"Action":"pass".*"Test":' "$scratch/events" || true)))
  if grep '^=== SKIP' "$scratch/log" >>"$scratch/skipped"; then
    echo "the tests above that were skipped DID NOT RUN"
    [ -z "${CI:-}" ] || exit 1
  fi
done

step "the demo, on embedded masters and on redis-server processes"
go run ./cmd/redlock demo --duration 6s --json
go run ./cmd/redlock demo --duration 6s --json --real

step "speed, against the raw floor in the same run"
(cd bench && go run . -check)

if [ -s "$scratch/flaky" ]; then
  step "FLAKY: these tests failed, and passed when they were run again"
  cat "$scratch/flaky"
fi
if [ -s "$scratch/skipped" ]; then
  step "$ran tests passed, but $(wc -l <"$scratch/skipped") DID NOT RUN:"
  cat "$scratch/skipped"
else
  step "all checks passed: $ran tests, and none was skipped"
fi
