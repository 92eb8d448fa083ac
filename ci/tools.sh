# Gets what the tests need beside Go, to be sourced: what is on PATH, else from
# Debian packages when we may install them. With short=-short, that is redis-server.
# Without packages, redis-server comes out of a Docker image (REDIS_IMAGE, by default
# the official one). It says what is still not there: tests that need it say that they
# did not run. In CI, where they must, it fails. Docker is not installed: make ci uses
# the Engine that answers.

redis_image=${REDIS_IMAGE:-redis:7}

have() {
  case $1 in
    postgres) compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null ;;
    docker) docker info >/dev/null 2>&1 ;; # an Engine that answers
    cc) echo '#include <stdlib.h>' | cc -E - >/dev/null 2>&1 ;; # with the headers, which -race needs
    debian-keys) [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ;; # of ci/servers.sh
    *) command -v "$1" >/dev/null ;;
  esac
}

# install gets the Debian packages without starting the services in them. In a
# shell of its own, so that nothing is left of that however it ends.
install() (
  echo "== installing $* from Debian packages"
  policy=/usr/sbin/policy-rc.d
  if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' > $policy
    chmod +x $policy
  fi
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "$@"
)

redis_from_docker() {
  local dir=$PWD/bin/redis image=$redis_image loader
  echo "== taking redis-server out of the image $image"
  mkdir -p "$dir"
  docker run --rm --entrypoint sh -v "$dir:/out" "$image" -c '
    bin=$(command -v redis-server)
    cp "$bin" /out/redis-server.bin
    ldd "$bin" | grep -o "/[^ ]*" | xargs -I{} cp -L {} /out/'
  loader=$(basename "$(ls "$dir"/ld-* | head -n 1)")
  printf '#!/bin/sh\nexec "%s/%s" --library-path "%s" "%s/redis-server.bin" "$@"\n' "$dir" "$loader" "$dir" "$dir" > "$dir/redis-server"
  chmod +x "$dir/redis-server"
  PATH=$dir:$PATH
}

needs=(redis-server:redis-server)
[ "${short:-}" = -short ] || needs+=(cc:gcc cc:libc6-dev postgres:postgresql mariadbd:mariadb-server spin:spin chromium:chromium zsh:zsh fish:fish curl:curl jq:jq python3:python3 node:nodejs debian-keys:debian-archive-keyring)
missing=()
for need in "${needs[@]}"; do
  have "${need%%:*}" || missing+=("${need##*:}")
done
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  install "${missing[@]}"
fi
if ! have redis-server && docker pull -q "$redis_image" 2>/dev/null; then
  redis_from_docker
fi
[ "${short:-}" = -short ] || needs+=(docker:)
lacking=()
for need in "${needs[@]}"; do
  have "${need%%:*}" || lacking+=("${need%%:*}")
done
# The servers of other lines. Without them, the tests that need them say that they did not run, and fail in CI.
if [ "${short:-}" != -short ]; then
  if ci/servers.sh; then
    export REDLOCK_SERVERS=$PWD/bin/servers
  else
    lacking+=(servers)
  fi
fi
if [ ${#lacking[@]} -gt 0 ]; then
  echo "not on this machine: $(printf '%s\n' "${lacking[@]}" | uniq | paste -sd ' '). What needs them will not run"
  [ -z "${CI:-}" ] || exit 1
fi
