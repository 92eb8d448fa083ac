#!/usr/bin/env bash
# Gets servers of the version lines in the README: bin/servers/LINE/redis-server, from the packages of Debian's releases.
# It needs apt and dpkg, but not root: it installs nothing, and changes no setting of the system. Each server runs with
# the libraries of its own release. The first run downloads some 60 MB, and keeps 108 MB. Fails if a server is not available.
set -euo pipefail
cd "$(dirname "$0")/.."
mirror=http://deb.debian.org/debian
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p bin/servers
cd bin/servers
here=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# download RELEASE PACKAGES...: gets packages into $scratch/RELEASE, which also has the lists and settings of apt.
download() {
  local root=$scratch/$1
  if [ ! -d "$root" ]; then
    mkdir -p "$root"/{lists/partial,archives/partial,parts}
    : >"$root/status"
    echo "deb [signed-by=$keys] $mirror $1 main" >"$root/sources.list"
    cat >"$root/apt.conf" <<END
Dir::State "$root";
Dir::State::lists "$root/lists";
Dir::State::status "$root/status";
Dir::Cache "$root";
Dir::Etc::sourcelist "$root/sources.list";
Dir::Etc::sourceparts "$root/parts";
Dir::Etc::preferencesparts "$root/parts";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Sandbox::User "";
END
    APT_CONFIG=$root/apt.conf apt-get -qq update
  fi
  (cd "$root" && APT_CONFIG=$root/apt.conf apt-get -qq download "${@:2}")
}

# line LINE RELEASE PROGRAM PACKAGES...: makes LINE/redis-server of the packages. PROGRAM is the program in the packages that checks
# dumps. Started under the name of the server, the same binary is the server.
line() {
  local to=$here/$1 release=$2 program=$3 libraries loader
  ! "$to/redis-server" --version >/dev/null 2>&1 || return 0
  echo "== taking ${1/-/ } from the packages of $release"
  rm -rf "$to" "$scratch/$release"/*.deb
  download "$release" "${@:4}"
  mkdir -p "$to"
  for package in "$scratch/$release"/*.deb; do dpkg-deb -x "$package" "$to"; done
  mv "$to/usr/bin/$program" "$to/server"
  rm -r "${to:?}/usr/bin" "${to:?}/usr/share"
  libraries=$(find "$to" -maxdepth 3 -type d -name '*-linux-gnu*' | paste -sd :)
  loader=$(find "$to" -path '*-linux-gnu*/ld-linux*.so.*')
  cat >"$to/redis-server" <<END
#!/bin/sh
export LUA_CPATH='$to/usr/lib/$(basename "$(dirname "$loader")")/lua/5.1/?.so' # where Debian's Redis 6 searches for cjson
exec '$loader' --library-path '$libraries' '$to/server' "\$@"
END
  chmod +x "$to/redis-server"
  "$to/redis-server" --version
}

all="libc6 libatomic1 libgcc-s1 libjemalloc2 liblzf1 libstdc++6 libsystemd0 libzstd1"
lua="liblua5.1-0 lua-bitop lua-cjson libgcrypt20 libgpg-error0 liblz4-1 liblzma5"
line redis-6.0 bullseye redis-check-rdb redis-tools $all $lua libssl1.1
line redis-7.0 bookworm redis-check-rdb redis-tools $all $lua libssl3 libcap2
line redis-8.0 trixie redis-check-rdb redis-tools $all libssl3t64 libcap2 zlib1g
line valkey-8.1 trixie valkey-check-rdb valkey-tools $all libssl3t64 libcap2 zlib1g
