#!/usr/bin/env bash
# Runs .golangci.yaml's linters in every module.
set -euo pipefail
cd "$(dirname "$0")/.."
lint=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
config=$PWD/.golangci.yaml
modules=$(ci/modules.sh)
for module in $modules; do
  echo "== $module"
  (cd "$module" && go run "$lint" run --config "$config" ./...)
done
