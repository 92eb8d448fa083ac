#!/usr/bin/env bash
# Runs gofmt, go vet and staticcheck, and checks go.mod files and shell scripts. Checks that each command of ci/walk.sh's
# pages has a step there. Changes nothing.
#
#   ci/lint.sh [all]    all: with the peers of bench
set -euo pipefail
cd "$(dirname "$0")/.."
set=${1:-everyday} # for ci/modules.sh
modules=$(ci/modules.sh "$set")
mapfile -t packages < <(sed 's#.*#./&/...#' <<<"$modules")

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }
if command -v shellcheck >/dev/null; then
  git ls-files 'ci/*.sh' .ci/run | xargs shellcheck --severity=warning
else
  echo "shellcheck is not here, so no shell script is checked: make tools FOR=ci installs it"
  [ -z "${CI:-}" ] || exit 1
fi
# With the tag lint, tests do not import the drivers, which are a third of the code that the linters would read.
go vet -tags=lint "${packages[@]}"
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags=lint "${packages[@]}"
ci/tidy.sh -diff "$set"
ci/walk.sh -n
