#!/usr/bin/env bash
# Gets the tools that tests need beside Go, from Debian's packages.
#
#   ci/tools.sh [test|ci]           installs the tools of make test (redis-server), or of make ci, unless they are on PATH
#   ci/tools.sh -n [test|race|ci]   installs nothing: lists the missing tools, and the line that installs them
#
# Outside CI a tool that is not available is no failure: the tests that need it are skipped, and listed. A Docker Engine is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
look=
if [ "${1:-}" = -n ]; then
  look=1
  shift
fi
what=${1:-test}

redis=(redis-server:redis-server)
compiler=(cc:gcc cc:libc6-dev) # for -race
others=(postgres:postgresql mariadbd:mariadb-server spin:spin zsh:zsh fish:fish curl:curl jq:jq python3:python3 node:nodejs
  shellcheck:shellcheck debian-keys:debian-archive-keyring)
case $what in
  test) needs=("${redis[@]}") ;;
  race) needs=("${redis[@]}" "${compiler[@]}") ;;
  ci) needs=("${redis[@]}" "${compiler[@]}" "${others[@]}") ;;
  *)
    echo "usage: ci/tools.sh [-n] [test|race|ci]" >&2
    exit 2
    ;;
esac

have() {
  case $1 in
    postgres) compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null ;;
    cc) echo '#include <stdlib.h>' | cc -E - >/dev/null 2>&1 ;;                        # with the headers
    debian-keys) [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ;; # of ci/servers.sh
    *) command -v "$1" >/dev/null ;;
  esac
}

# missing prints the packages of the missing tools, one a line.
missing() {
  for need in "${needs[@]}"; do
    have "${need%%:*}" || echo "${need##*:}"
  done
}

# install gets packages without starting their services. It runs in a subshell, so that its settings end with it.
install() (
  echo "== installing $* from Debian packages"
  policy=/usr/sbin/policy-rc.d
  if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
  fi
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "$@"
)

mapfile -t packages < <(missing)
if [ -z "$look" ] && [ ${#packages[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  install "${packages[@]}"
  mapfile -t packages < <(missing)
fi
if [ -z "$look" ] && [ "$what" = ci ]; then
  ci/servers.sh || packages+=("the servers of ci/servers.sh")
fi
if [ "$what" = ci ] && ! docker info >/dev/null 2>&1; then
  packages+=("a Docker Engine that answers")
fi
[ ${#packages[@]} -gt 0 ] || exit 0
echo "not on this machine: $(printf '%s\n' "${packages[@]}" | paste -sd , | sed 's/,/, /g'). Tests that need it are skipped."
[ "$what" = test ] && make="make tools" || make="make tools FOR=ci"
echo "To install it, as root on Debian or Ubuntu: $make"
[ -z "${CI:-}" ]
