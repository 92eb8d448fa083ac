#!/usr/bin/env bash
# Mutation testing of what safety rests on: gremlins changes one operator at a time,
# and tests must fail. docs/CHAOS.md has the results, and how long it takes.
#
#   ci/mutation.sh [AREA...]     without one: all. The areas are below.
#
# Prints for each area the score, and each mutant that was not killed, with its line.
# Exits with 0 whatever they are: who reads it decides. An area of the root package
# takes about 12 s of CPU for each mutant, the others 1 to 2 s; all together are for a
# night.
#
# gremlins runs `go test` of one package for each mutant. That would take minutes for
# this one, so it finds a `go` of ours on PATH, which builds the test binary once and
# runs the area's own tests, then wider ones (WIDE), without any redis-server. It also
# mends two things: a mutant that does not compile is no killed one, and a case of a
# switch, which Go's coverage leaves out, is covered.
set -euo pipefail
cd "$(dirname "$0")/.."
gremlins=github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
module=$(go list -m)

# area NAME 'FILES' 'PACKAGES' 'TESTS': FILES are mutated; the tests of PACKAGES judge, and
# then, of the root package, those of TESTS (NAME_test.go).
areas() {
  area decisions 'quorum.go clock.go fencing.go' '' 'quorum clock fencing hold late'
  area hold 'hold.go watchdog.go' '' 'hold late clock reentry lock locks locks_fault readers_faults recovery'
  area telling telling.go '' 'observer hold late wish'
  area rounds 'round.go release.go await.go' '' 'hold late lock locks locks_fault errors reach readers recovery'
  area waiting 'waiting.go waitlimit.go' '' 'waiting handover errors failfast force readers slots'
  area queues 'internal/waitqueue/*.go' internal/waitqueue 'waiting'
  area table 'internal/membership/table.go internal/membership/version.go internal/membership/next.go
    internal/membership/server.go internal/membership/view.go' internal/membership ''
  area changes 'internal/membership/propose.go internal/membership/changes.go internal/membership/newmember.go
    internal/membership/report.go internal/membership/group.go internal/membership/work.go' internal/membership 'members init recovery hungmember'
  area founding 'membership.go internal/membership/init.go internal/membership/rights.go
    internal/membership/describe.go' internal/membership 'members init recovery'
  area batch 'internal/master/*.go' internal/master 'connections departures lock reach'
  area scripts 'internal/script/*.go' internal/script ''
  area clock 'internal/clock/*.go' internal/clock ''
  area fence 'fence/*.go' fence ''
}

# Wider tests, for those mutants that the area's own let live.
WIDE='^(TestBehaviourEmbedded|TestARenewalThatMeetsANewVersion)$'
# Those that take longest: 10 s and more.
SLOW='^(TestAnInitThatDiesIsFinished|TestFailFast|TestThoseWipedTogetherComeBackTogether|TestMembersChangeUnderLoad|TestAClientThatPausesLearnsAtOnce)$'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch
mkdir "$scratch/bin"
GOBIN="$scratch" go install "$gremlins"
GO=$(command -v go)
export GO WIDE SLOW

# The judge. gremlins calls it for the coverage, and for each mutant.
cat >"$scratch/bin/go" <<'JUDGE'
#!/usr/bin/env bash
set -u
unset CI # so that tests skip what there is no redis-server for
binary=$(mktemp)
trap 'rm -f "$binary"' EXIT

# judge PACKAGE TESTS FLAGS...: exits when they fail.
judge() {
  (cd "$1" && PATH=/nonexistent "$binary" -test.short -test.run "$2" -test.skip "$SLOW" -test.timeout "$limit" "${@:3}")
}

case "$*" in
  "test -cover -coverprofile "*)
    echo 'mode: set' >"$4"
    for package in $PACKAGES ${TESTS:+.}; do
      "$GO" test -c -o "$binary" -coverpkg="$COVERED" "./$package" || exit
      [ "$package" = . ] && tests=$TESTS || tests=.
      limit=10m judge "$package" "$tests" -test.coverprofile="$binary.cover" || exit
      tail -n +2 "$binary.cover" >>"$4"
      rm "$binary.cover"
    done
    if [ -n "$TESTS" ]; then # they are part of the time that the mutants have
      limit=10m judge . "$WIDE" || exit
    fi
    for file in $FILES; do
      awk -v file="$MODULE/$file" '/^\t*(case .*|.*const .*|\t[a-z][A-Za-z]* +=.*)$/ { print file ":" FNR ".1," FNR ".999 1 1" }' "$file" >>"$4"
    done
    ;;
  "test -timeout "*)
    limit=$3
    for package in $PACKAGES ${TESTS:+.}; do
      "$GO" test -c -o "$binary" -trimpath -vet=off -gcflags='-N -l' -ldflags='-s -w' "./$package" || exit 2 # no mutant
      [ "$package" = . ] && tests=$TESTS || tests=.
      judge "$package" "$tests" -test.failfast || exit 1
    done
    [ -z "$TESTS" ] || judge . "$WIDE" -test.failfast || exit 1
    ;;
  *) exec "$GO" "$@" ;;
esac
JUDGE
chmod +x "$scratch/bin/go"

# The tree that is mutated: without the tests that take long to build.
mkdir "$scratch/tree"
git ls-files -z | xargs -0 tar c | tar x -C "$scratch/tree"
(cd "$scratch/tree" && rm -f chaos_test.go simulation_test.go planted_test.go example_test.go ./*_bench_test.go)

area() {
  local name=$1 packages=$3 names=() tests='' files others
  [ -z "$wanted" ] || grep -qw "$name" <<<"$wanted" || return 0
  files=$(ls $2 | grep -v _test.go)
  for file in $4; do
    names+=($(grep -oE '^func Test[A-Za-z0-9_]+' "${file}_test.go" | cut -c 6-))
  done
  [ ${#names[@]} = 0 ] || tests="^($(IFS='|'; echo "${names[*]}"))\$"
  local patience=5 # times what the coverage took, which is little for one small package
  [ -n "$tests" ] || patience=10
  others=$(git ls-files '*.go' | grep -v _test.go | grep -vxF "$files" | paste -sd '|')
  echo "== $name:" $files
  (cd "$scratch/tree" &&
    PATH=$scratch/bin:$PATH PACKAGES=$packages TESTS=$tests FILES=$files MODULE=$module \
      COVERED=$(dirname $files | sort -u | sed 's|^\.$|.|; s|^[^.]|./&|' | paste -sd ,) \
      "$scratch/gremlins" unleash . --exclude-files "^($others)\$" --workers "${WORKERS:-1}" --timeout-coefficient $patience \
      --invert-logical --invert-loopctrl --invert-assignments --remove-self-assignments --output-statuses lctv) |
    tee "$scratch/log" | sed -uE 's/^ +//' | while read -r line; do
      echo "$line"
      if [[ $line =~ at\ ([^ ]+):([0-9]+):[0-9]+$ ]]; then
        sed -n "${BASH_REMATCH[2]}p" "${BASH_REMATCH[1]}"
      fi
    done
}

wanted="$*"
for name in $wanted; do
  declare -f areas | grep -q "area $name " || { echo "there is no area $name" >&2; exit 2; }
done
areas
