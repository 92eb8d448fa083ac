#!/usr/bin/env bash
# Prints the commands that tag a version of every module for users, once every go.mod
# requires that version of them.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?give the version, like v0.1.0}

# bench is never tagged: v0.0.0 there means whatever the replace says.
if grep -nE 'github\.com/redlock-go/redlock\S* v' $(git ls-files '*go.mod') | grep -vE " ${version//./\\.}( |$)|/bench v0\.0\.0$"; then
  echo "these lines do not require $version" >&2
  exit 1
fi

tags=$version
for module in $(git ls-files '*/go.mod' | xargs -n 1 dirname); do
  case $module in
    bench | bench/* | guard/e2e | internal/*) ;; # only this repository uses them
    *) tags+=" $module/$version" ;;
  esac
done
for tag in $tags; do echo "git tag -a $tag -m $tag"; done
echo "git push --atomic origin $tags"
