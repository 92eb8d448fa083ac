#!/usr/bin/env bash
# Takes the steps of README, from a clone to the first lock of a program, and to a guard in this program. go mod tidy may download modules.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
masters=
trap '[ -z "$masters" ] || kill "$masters"; wait; rm -rf "$work"' EXIT
mapfile -t commands < <(sed -n '/^## The first lock$/,/^## In production$/s/^    //p' "$root/README.md")
[ "${commands[0]}" = "go run ./cmd/redlock-demo masters" ] || { echo "README begins with ${commands[0]}"; exit 1; }
go build -C "$root" -o "$work/demo" ./cmd/redlock-demo
"$work/demo" masters >"$work/said" &
masters=$!
until grep -q REDLOCK_MASTERS= "$work/said"; do sleep 0.1; done
mkdir "$work/redlock" && cd "$work/redlock"
went=0
for command in "${commands[@]:1}"; do
  case $command in
    "export REDLOCK_MASTERS="*) command="export $(grep -o 'REDLOCK_MASTERS=[^ ]*' "$work/said" | head -1)" ;;
    "go mod tidy") cp "$root/docs/first/main.go" . ;;
    "go run .") went=1 ;;
  esac
  eval "${command//=..\/redlock/=$root}"
done
[ "$went" = 1 ] || { echo "README runs no program"; exit 1; }
echo 'package main; import _ "github.com/redlock-go/redlock/guard/sqlguard"' >guard.go
go mod tidy
go build .
