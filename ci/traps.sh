#!/usr/bin/env bash
# Puts each trap of docs/TRAPS.md back, one after the other, and runs the tests that must be red then: internal/traps.
#
#   ci/traps.sh [-run REGEXP]
set -euo pipefail
cd "$(dirname "$0")/.."
short=-short # redis-server is what these tests need beside Go
. ci/tools.sh
export GORACE=atexit_sleep_ms=0
go run ./internal/traps "$@"
