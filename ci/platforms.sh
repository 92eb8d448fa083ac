#!/usr/bin/env bash
# Vets the packages for users, with their tests, for the systems and processors that no test runs on.
set -euo pipefail
cd "$(dirname "$0")/.."
# Leaves out the modules that need Linux to measure or run servers.
mapfile -t packages < <(ci/modules.sh | grep -vE '^(bench|internal|guard/e2e)(/|$)' | sed 's#.*#./&/...#')
for platform in windows/amd64 darwin/arm64 freebsd/amd64 linux/386 linux/arm64; do
  echo "== $platform"
  GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 go vet "${packages[@]}"
done
