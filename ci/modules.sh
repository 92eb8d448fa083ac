#!/usr/bin/env bash
# Prints the folder of each module, one a line, and fails if it cannot list them. Assign the output to a variable before you use
# it: `for module in $(ci/modules.sh)` would ignore a failure.
#
#   ci/modules.sh              all modules
#   ci/modules.sh everyday     without the peers of bench, whose dependencies take minutes to build: CI checks them at night
set -euo pipefail
cd "$(dirname "$0")/.."
all=$(git ls-files '*go.mod' | xargs -r -n 1 dirname | LC_ALL=C sort | grep .)
case ${1:-all} in
  all) echo "$all" ;;
  everyday) grep -v '^bench/peers/' <<<"$all" ;;
  *)
    echo "usage: ci/modules.sh [everyday]" >&2
    exit 2
    ;;
esac
