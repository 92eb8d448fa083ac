#!/usr/bin/env bash
# Runs go mod tidy in the modules.
#
#   ci/tidy.sh                  in all modules
#   ci/tidy.sh -diff [SET]      changes nothing, and fails if go mod tidy would change a file; SET is passed to ci/modules.sh
#
# go.mod of cmd/redlock has no replace, because go install would refuse it. Until a version is published, go mod tidy runs on a copy with a replace.
set -euo pipefail
cd "$(dirname "$0")/.."
diff=${1:-}
modules=$(ci/modules.sh "${2:-all}")
library=github.com/redlock-go/redlock
root=$PWD
scratch=$(mktemp -d)
trap '[ $? = 0 ] || echo "$PWD: go.mod or go.sum is not tidy: ci/tidy.sh mends it" >&2; rm -rf "$scratch"' EXIT

for module in $modules; do
  cd "$root/$module"
  if [ "$module" = . ] || grep -q "$library => " go.mod; then
    go mod tidy ${diff:+-diff}
    continue
  fi
  cp go.mod go.sum "$scratch"
  go mod edit -replace="$library=$root" "$scratch/go.mod"
  go mod tidy ${diff:+-diff} -modfile="$scratch/go.mod"
  if [ -z "$diff" ]; then
    go mod edit -dropreplace="$library" "$scratch/go.mod"
    cp "$scratch"/go.{mod,sum} .
  fi
done
