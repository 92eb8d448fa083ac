#!/usr/bin/env bash
# Prints the commands that tag a version of every module for users. Fails unless every
# go.mod requires that version of these modules.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?give the version, like v0.1.0}

# bench is never tagged. Other modules require its version v0.0.0, and have a replace for it.
files=$(git ls-files '*go.mod')
if grep -nE 'github\.com/redlock-go/redlock\S* v' $files | grep -vE " ${version//./\\.}( |$)|/bench v0\.0\.0$"; then
  echo "these lines do not require $version" >&2
  exit 1
fi

tags=$version
modules=$(ci/modules.sh)
for module in $modules; do
  case $module in
    . | bench | bench/* | guard/e2e | internal/*) ;; # only this repository uses them
    *) tags+=" $module/$version" ;;
  esac
done
for tag in $tags; do echo "git tag -a $tag -m $tag"; done
echo "git push --atomic origin $tags"
