#!/usr/bin/env bash
# The shell's worker for the conformance test: it runs examples/job.sh. conformance.py documents workers.
socket=$1
shift 2 # also drops the longest wait: job.sh waits for 10 s
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name; do
  {
    "$(dirname "$0")/../../examples/job.sh" "$socket" "$name" sh -c 'echo "$1 holds $REDLOCK_TOKEN"; until [ -e "$2/end" ]; do sleep 0.05; done' sh "$name" "$folder" 2> >(
      while read -r line; do
        case $line in
          "the lock "*lost*) echo "$name lost" ;;
          "no lock: "*) echo "$name failed ${line#no lock: }" ;;
        esac
      done
    ) && echo "$name released"
  } </dev/null &
done
while read -r line; do
  case $line in
    fork) echo "fork none" ;; # the command has only the token
    end) break ;;
  esac
done
touch "$folder/end"
wait
