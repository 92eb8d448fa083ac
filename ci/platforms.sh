#!/usr/bin/env bash
# Vets what users get, and its tests, for the systems and processors that no test runs on.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$(ci/modules.sh)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GOWORK=$scratch/go.work
go work init
packages=()
for module in $modules; do
  case $module in
    bench | bench/* | guard/e2e | internal/*) ;; # measures, or runs servers, on Linux
    *)
      go work use "$module"
      packages+=("./$module/...")
      ;;
  esac
done
for platform in windows/amd64 darwin/arm64 freebsd/amd64 linux/386 linux/arm64; do
  echo "== $platform"
  GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 go vet "${packages[@]}"
done
