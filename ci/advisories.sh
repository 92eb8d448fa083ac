#!/usr/bin/env bash
# Lists known vulnerabilities in the code that the modules call. It asks vuln.go.dev.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$(ci/modules.sh)
for module in $modules; do
  echo "== $module"
  (cd "$module" && go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...)
done
