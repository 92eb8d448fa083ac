#!/bin/sh
# Builds the image of the masters for the chaos tests from the Debian packages that are
# installed on this machine; it needs no registry.
#
#   build.sh                  the image redlock-master:local
#   build.sh --preload DIR    only DIR/clock.so, which moves a server's clock
#
# Needs cc, and for the image redis-server, redis-cli and docker.
set -eu
umask 022 # the server is not root
here=$(cd "$(dirname "$0")" && pwd)

preload() {
  cc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$1/clock.so" "$here/preload/clock.c"
}

if [ "${1:-}" = --preload ]; then
  preload "$2"
  exit
fi

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
root=$context/root

mkdir -p "$root/usr/bin" "$root/usr/lib/redlock" "$root/etc/redlock" "$root/data" "$root/tmp" "$root/dev/shm"
chmod 1777 "$root/tmp" "$root/dev/shm"
# The server runs as user 999, and must be able to write its data.
chmod 0777 "$root/data"
echo 'redis:x:999:999::/data:/usr/bin/redis-server' > "$root/etc/passwd"
echo 'redis:x:999:' > "$root/etc/group"
cp "$here"/redis/*.conf "$root/etc/redlock/"
preload "$root/usr/lib/redlock"

# Each program, and every library that ldd finds for it, under its own path.
for program in redis-server redis-cli; do
  path=$(command -v "$program")
  cp -L "$path" "$root/usr/bin/$program"
  ldd "$path" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -Lu "$library" "$root$library"
  done
done

cp "$here/Dockerfile" "$context/"
DOCKER_BUILDKIT=0 docker build --quiet --tag redlock-master:local "$context"
