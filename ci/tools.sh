# Gets what the tests need beside Go, to be sourced: what is on PATH, else from
# Debian packages when we may install them. With short=-short, that is redis-server.
# Without packages, redis-server comes out of
# a Docker image (REDIS_IMAGE, by default the official one), and what needs the
# rest (databases, the model checker) says that it did not run.

have() {
  case $1 in
    postgres) compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null ;;
    cc) echo '#include <stdlib.h>' | cc -E - >/dev/null 2>&1 ;; # with the headers, which -race needs
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
  local dir=$PWD/bin/redis image=${REDIS_IMAGE:-redis:7} loader
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

missing=()
needs=(redis-server:redis-server)
[ "${short:-}" = -short ] || needs+=(cc:gcc cc:libc6-dev postgres:postgresql mariadbd:mariadb-server spin:spin chromium:chromium zsh:zsh fish:fish curl:curl)
for need in "${needs[@]}"; do
  have "${need%%:*}" || missing+=("${need##*:}")
done
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  install "${missing[@]}"
fi
if ! have redis-server; then
  command -v docker >/dev/null || { echo "redis-server is needed: install it, or run as root on Debian, or with Docker" >&2; exit 1; }
  redis_from_docker
fi
