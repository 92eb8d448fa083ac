#!/usr/bin/env bash
# Runs README's two commands, to the letter, in a clone of the committed files, on a machine with only Debian, Go, git and make.
# Prints time and traffic. Needs root and debootstrap. The machine is a folder for chroot, which is removed at the end.
#
#   ci/bare.sh FOLDER    keeps what the commands printed, and the figures, in FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-}
[ -n "$out" ] || { echo "usage: ci/bare.sh FOLDER" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "it must run as root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "debootstrap is needed: apt-get install debootstrap" >&2; exit 1; }
mkdir -p "$out"
out=$(cd "$out" && pwd)

mapfile -t commands < <(sed -n '/^## Two commands$/,/^## /s/^    //p' README.md)
[ ${#commands[@]} = 2 ] || { echo "README.md has ${#commands[@]} lines of code in its section of two commands" >&2; exit 1; }

root=$(mktemp -d "${TMPDIR:-/var/tmp}/redlock-bare-XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "== a machine with Debian, Go, git and make"
debootstrap --variant=minbase --include=git,make,ca-certificates bookworm "$root" >"$out/debootstrap.log" 2>&1 ||
  { tail -n 20 "$out/debootstrap.log" >&2; exit 1; }
cp -a "$(go env GOROOT)" "$root/usr/local/go"
# The bare machine uses the network and the trusted certificates of this machine.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
network=("GOPROXY=$(go env GOPROXY)" "GOSUMDB=$(go env GOSUMDB)")
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  [ -z "${!name:-}" ] || network+=("$name=${!name}")
done
# In a workflow, the repository may belong to another user: safe.directory lets git clone it.
printf '[safe]\n\tdirectory = *\n' >"$root/root/trust"
GIT_CONFIG_GLOBAL=$root/root/trust git clone -q --no-hardlinks . "$root/root/redlock"
rm "$root/root/trust"

# inside COMMAND: runs COMMAND in the clone, in namespaces of its own, so that its mounts and processes end with COMMAND.
inside() {
  unshare --mount --pid --fork --kill-child bash -euc '
    mount --rbind /dev "$0/dev"
    mount -t proc proc "$0/proc"
    mount -t sysfs sysfs "$0/sys"
    exec chroot "$0" env -i "${@:2}" bash -c "cd /root/redlock && $1"' \
    "$root" "$1" HOME=/root TERM=dumb PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${network[@]}" \
    </dev/null 2>&1
}

# now prints microseconds; received prints the bytes that this machine has received from the network.
now() { echo "${EPOCHREALTIME//[!0-9]/}"; }
received() { cat "/sys/class/net/$(awk '$2 == "00000000" { print $1; exit }' /proc/net/route)/statistics/rx_bytes"; }
on_disk() { du -sm --one-file-system "$root" | cut -f 1; }

# watch FILE: copies input to output. At the end it writes to FILE the longest time without a line, in ms, and the line before it.
watch() {
  local last line before='the begin' longest=0 after='' t
  last=$(now)
  while IFS= read -r line || [ -n "$line" ]; do
    t=${EPOCHREALTIME//[!0-9]/}
    [ $((t - last)) -le "$longest" ] || { longest=$((t - last)) after=$before; }
    last=$t before=$line
    printf '%s\n' "$line"
  done
  t=$(now)
  [ $((t - last)) -le "$longest" ] || { longest=$((t - last)) after=$before; }
  printf '%d %s\n' $((longest / 1000)) "$after" >"$1"
}

status=0
{
  echo "| command | it ended | min | tests | longest silence | after the line | MB received | MB on the disk |"
  echo "|---|---|---|---|---|---|---|---|"
} >"$out/figures"
for n in 0 1; do
  command=${commands[n]} log=$out/command$((n + 1)).log
  echo "== $command"
  began=$(now) bytes=$(received) disk=$(on_disk) ended=well
  inside "$command" | watch "$out/silence" | tee "$log" || { ended="with a failure" status=1; }
  took=$(($(now) - began)) bytes=$(($(received) - bytes)) disk=$(($(on_disk) - disk))
  read -r silence after <"$out/silence"
  tests=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' "$log")
  awk -v command="$command" -v ended="$ended" -v us="$took" -v tests="${tests:-none}" -v ms="$silence" -v after="${after//|//}" -v bytes="$bytes" -v disk="$disk" \
    'BEGIN { printf "| `%s` | %s | %.1f | %s | %.0f s | %.60s | %.0f | %d |\n", command, ended, us / 6e7, tests, ms / 1000, after, bytes / 1e6, disk }' >>"$out/figures"
done
rm "$out/silence"
echo "== on $(nproc) cores of $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), load $(cut -d ' ' -f 1 /proc/loadavg) at the end, $(go env GOVERSION), commit $(git -c safe.directory='*' rev-parse --short HEAD)" >>"$out/figures"
cat "$out/figures"
exit $status
