#!/usr/bin/env bash
# A job that several hosts start, and one at a time does. It needs curl and jq.
#
#     agent/examples/job.sh /run/redlock/agent.sock payroll COMMAND ...
#
# COMMAND gets the fencing token as REDLOCK_TOKEN. It is killed when the lock can no longer be
# proved. (Where the redlock binary is, redlock run does the same better.)
set -euo pipefail
socket=$1 name=$2
shift 2
ttl=15000 # of the session, in ms

# now prints the time since boot in ms, which nobody sets. (It does not count a suspend.)
now() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

# ask SECONDS METHOD PATH [BODY]: prints the answer; fails if there is none, and at a problem, which it also prints.
ask() {
  curl --silent --show-error --fail-with-body --max-time "$1" --unix-socket "$socket" -X "$2" "http://localhost$3" ${4:+--data "$4"}
}

session=/v1/sessions/$(ask 5 POST /v1/sessions "{\"ttl_ms\": $ttl}" | jq -er .session)
work=
# The work ends before its lock does. (Who kills this script with SIGKILL leaves the work alone.)
finish() {
  [ -z "$work" ] || kill -KILL -- "-$work" 2>/dev/null || true
  ask 5 DELETE "$session" >/dev/null || true
}
trap finish EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
id=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

wanted=$(jq -n --arg name "$name" '{name: $name, wait_ms: 10000}')
for _ in wait look; do # it may have been waited for: the same request gets the same lock, and tells what is left by now
  sent=$(now)
  answer=$(ask 15 PUT "$session/locks/$id" "$wanted") || {
    echo "no lock: $(jq -r .detail <<<"$answer")" >&2
    exit 75
  }
done
until=$((sent + $(jq -er .valid_for_ms <<<"$answer")))
REDLOCK_TOKEN=$(jq -er .token <<<"$answer") setsid "$@" &
work=$!

while kill -0 "$work" 2>/dev/null; do
  sleep 0.2
  if [ "$(now)" -ge "$until" ]; then
    kill -KILL -- "-$work"
    echo "the lock is lost: $name" >&2
    exit 76
  fi
  if [ $((until - $(now))) -lt $((ttl * 2 / 3)) ]; then
    sent=$(now)
    if answer=$(ask 1 GET "$session/locks/$id"); then
      until=$((sent + $(jq -er .valid_for_ms <<<"$answer")))
    fi
  fi
done
status=0
wait "$work" || status=$?
work=
ask 5 DELETE "$session/locks/$id" >/dev/null || { echo "the lock was lost before the end: $name" >&2; status=76; }
exit "$status"
