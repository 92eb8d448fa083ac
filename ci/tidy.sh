#!/usr/bin/env bash
# Runs go mod tidy in every module. cmd/redlock has no replace, which go install would refuse: it gets one for this time.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$(ci/modules.sh)
own=github.com/redlock-go/redlock
trap 'go mod edit -dropreplace="$own" cmd/redlock/go.mod' EXIT
go mod edit -replace="$own=../.." cmd/redlock/go.mod
for module in $modules; do (cd "$module" && go mod tidy); done
