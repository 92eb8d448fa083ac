#!/usr/bin/env bash
# A job that several hosts start and that runs on one at a time. It needs curl and jq.
#
#     cmd/redlock/agent/examples/job.sh /run/redlock/agent.sock payroll COMMAND ...
#
# COMMAND gets the fencing token as REDLOCK_TOKEN. The script kills COMMAND before the lock ends. The script
# exits with the status of COMMAND, or with 75 if there is no lock, 69 if the agent does not answer, 76 if the
# lock was lost. (If you have the redlock binary, use redlock run instead.)
set -euo pipefail
socket=$1 name=$2
shift 2
ttl=15000    # of the session, in ms
reserve=1000 # COMMAND is killed so many ms before the lock ends: on a busy machine each program that this script starts takes 200 ms

# now prints the time since boot in ms, which no clock change affects. It counts a suspend.
now() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

# ask MS METHOD PATH [BODY]: prints the answer. The status is 22 if the answer is a problem, and another number if there is no answer.
ask() {
  curl --silent --show-error --fail-with-body --max-time "$(awk "BEGIN { print $1 / 1000 }")" --unix-socket "$socket" -X "$2" "http://localhost$3" ${4:+--data "$4"}
}

session=/v1/sessions/$(ask 5000 POST /v1/sessions "{\"ttl_ms\": $ttl}" | jq -er .session) || exit 69
work=
# finish kills the work before it ends the session, and with the session the lock. (A SIGKILL of this script
# does not end the work.) If the agent does not answer, the session ends by itself.
finish() {
  [ -z "$work" ] || kill -KILL -- "-$work" 2>/dev/null || true
  ask 5000 DELETE "$session" >/dev/null || true
}
trap finish EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
id=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

wanted=$(jq -n --arg name "$name" '{name: $name, wait_ms: 10000}')
give_up=$(($(now) + 10000 + ttl)) answers=0
while [ "$answers" -lt 2 ]; do # the first answer may have taken long: the same request returns the same lock, and the time left now
  sent=$(now) status=0
  answer=$(ask 15000 PUT "$session/locks/$id" "$wanted") || status=$?
  case $status in
    0) answers=$((answers + 1)) ;;
    22) echo "no lock: $(jq -r '"\(.type | split("#") | last): \(.detail)"' <<<"$answer")" >&2; exit 75 ;;
    *) [ "$(now)" -lt "$give_up" ] || { echo "no lock: the agent does not answer" >&2; exit 69; }; sleep 0.1 ;;
  esac
done
valid=$(jq -er .valid_for_ms <<<"$answer")
until=$((sent + valid))
REDLOCK_TOKEN=$(jq -er .token <<<"$answer") setsid "$@" &
work=$!

lost() {
  kill -KILL -- "-$work" 2>/dev/null || true
  echo "the lock is lost: $name" >&2
  exit 76
}
while kill -0 "$work" 2>/dev/null; do
  left=$((until - $(now) - reserve))
  [ "$left" -gt 0 ] || lost
  if [ "$left" -lt $((valid * 2 / 3)) ]; then # renew in time: the request may take as long as the lock is valid
    sent=$(now) status=0
    answer=$(ask $((left < 1000 ? left : 1000)) GET "$session/locks/$id") || status=$?
    case $status in
      0) valid=$(jq -er .valid_for_ms <<<"$answer") until=$((sent + valid)) ;;
      22) lost ;;
    esac
  fi
  sleep 0.1
done
status=0
wait "$work" || status=$?
work=
gone=0
ask 5000 DELETE "$session/locks/$id" >/dev/null || gone=$?
[ "$gone" -ne 22 ] || { echo "the lock was lost before the end: $name" >&2; status=76; }
exit "$status"
