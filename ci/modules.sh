#!/usr/bin/env bash
# Prints the folder of each module, one a line, and fails if it cannot tell them. In `for module in $(ci/modules.sh)` a failure is
# not seen: assign what it prints first.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*go.mod' | xargs -r -n 1 dirname | LC_ALL=C sort | grep .
