#!/usr/bin/env bash
# Runs the commands of the pages in their order: README, DEPLOY, OPERATIONS (each drill), FENCING, AGENT, and the migration from
# redsync. The commands are read out of the pages. It fails if a command has no step, or a step has no command.
#
#   ci/walk.sh FOLDER    runs the commands, and keeps their output in FOLDER; as root, on Linux
#   ci/walk.sh -n        only checks that each command has its step: ci/lint.sh
#
# It runs in namespaces of its own: the addresses are on its loopback, and changes to /etc, /run and /usr/local/bin are gone
# afterwards. Servers, users, TLS, certificates and the agent are real. Replaced parts are printed with "NEAR": a running systemd
# (units are checked, and their ExecStart is run), docker, and a cluster (manifests are rendered; bench/peers/leaderelection decodes
# them strictly).
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${WALK:-check} # check; outside: runs the parts that are Go tests, with the network; inside: runs the rest
page='' at=0 lines=() spans=() began=0

fail() { echo "walk: $page: $*" >&2; exit 1; }
note() { [ "$mode" = check ] || printf '\n== %d:%02d %s: %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$page" "$*"; }
inside() { [ "$mode" = inside ]; }

# code FILE lines|prose: prints the indented lines of code; or the prose, without fenced blocks.
code() {
  awk -v what="$2" '/^ *```/ { fence = !fence; code = blank = 0; next }
    fence { next }
    /^ *$/ { blank = 1; next }
    /^    / && (blank || code) { code = 1; blank = 0; sub(/^ +/, ""); if (what == "lines") print; next }
    { code = blank = 0; if (what == "prose") print }' "$1"
}

# page FILE: ends the page before, and begins FILE.
page() {
  over
  page=$1 at=0 began=$SECONDS
  mapfile -t lines < <(code "$page" lines)
  mapfile -t spans < <(code "$page" prose | tr '\n' ' ' | grep -oE '`(redlock|redis-cli|sh|docker|kubectl|systemctl|apt-get|install|cp|curl|go|python3|pip|npm|make|ACL|CONFIG|REPLICAOF|SLOWLOG|SCRIPT|CLIENT|INFO) [^`]+`' | tr -d '`' | tr -s ' ' | sort -u)
}

over() {
  [ -z "$page" ] || [ "$at" = ${#lines[@]} ] || fail "no step for: ${lines[at]}"
  [ ${#spans[@]} = 0 ] || fail "no step for: ${spans[*]/#/| }"
  [ -z "$page" ] || note "its steps $mode took $((SECONDS - began)) s"
}

# next PREFIX: takes the next line of code, which must begin with PREFIX.
next() {
  [ "$at" -lt ${#lines[@]} ] && [[ ${lines[at]} == "$1"* ]] || fail "the step is $1, and the page has: ${lines[at]:-nothing}"
  line=${lines[at]}
  at=$((at + 1))
}

# run COMMAND [STATUS]: runs a command line in this shell.
run() {
  local status=0
  note "$1"
  eval "$1" || status=$?
  [ "$status" = "${2:-0}" ] || fail "status $status, want ${2:-0}: $1"
}

# step PREFIX [SED [STATUS]]: runs the next line of code, with its placeholders replaced by SED.
step() {
  next "$1"
  inside || return 0
  run "$(sed -E "${2:-}" <<<"$line")" "${3:-}"
}

# said TEXT [SED [STATUS]]: runs a command that a sentence names.
said() {
  local i
  for i in "${!spans[@]}"; do
    if [ "${spans[i]}" = "$1" ]; then
      unset "spans[i]"
      inside || return 0
      run "$(sed -E "${2:-}" <<<"$1")" "${3:-}"
      return
    fi
  done
  fail "it does not say $1"
}

# tested N COMMAND: skips the next N lines of code, which COMMAND tests.
tested() {
  at=$((at + $1))
  [ "$at" -le ${#lines[@]} ] || fail "it has ${#lines[@]} lines of code"
  [ "$mode" = outside ] || return 0
  run "$2"
}

# setup COMMAND...: runs a command that is no step of the page, in the mode inside.
setup() { ! inside || "$@"; }

# until_true COMMAND...: waits until the command succeeds.
until_true() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  fail "not in time: $*"
}

# master IP ARGUMENTS...: starts a master. empty IP...: kills each master, and starts it without data.
master() {
  mkdir -p "$work/$1"
  redis-server --bind "$1" --port 6379 --protected-mode no --dir "$work/$1" --save '' --daemonize yes --pidfile "$work/$1/pid" "${@:2}" >/dev/null
  until_true redis-cli -h "$1" PING
  sed -n 's/^user \(redlock\|operator\) /ACL SETUSER \1 /; s/>[A-Z]*-PASSWORD/>PASSWORD/p' deploy/users.acl | redis-cli -h "$1" >/dev/null
}
kill_master() { kill -KILL "$(cat "$work/$1/pid")" && until_true not redis-cli -h "$1" PING; }
not() { ! "$@"; }
empty() { local ip; for ip; do kill_master "$ip" && rm -rf "${work:?}/$ip" && master "$ip"; done; }
operator() { REDISCLI_AUTH=PASSWORD redis-cli -h "$1" --user operator "${@:2}" | tee "$work/said"; ! grep -qE '^(ERR|NOPERM|WRONGPASS|\(error\))' "$work/said"; }
votes() { redlock members --json | jq -se 'length == 1 and .[0].error == "" and all(.[].members[]; .state == "voting" and .master != "")'; }
urls() { local ip; for ip; do printf 'redis://redlock:PASSWORD@%s:6379,' "$ip"; done | sed 's/,$//'; }

near() { echo "NEAR: $*"; }
sysctl() { near "sysctl $*: $(cat "$2")"; }
docker() { near "docker $*: there is none that runs here"; }
kubectl() {
  near "kubectl $*: there is no cluster"
  case "$1 $2" in
    "apply -k") command kubectl kustomize "$3" >"$work/rendered" && grep -q 'kind: StatefulSet' "$work/rendered" ;;
    *) [ -s "${!#}" ] ;;
  esac
}
systemctl() {
  local name=${!#} start=() ip
  near "systemctl $*: the unit is checked, and what it starts is started"
  case "$*" in
    *redlock-master)
      systemd-analyze verify --man=no /etc/systemd/system/redlock-master.service
      read -ra start < <(sed -n 's/^ExecStart=//p' /etc/systemd/system/redlock-master.service | sed 's/--supervised systemd//; s/--daemonize no/--daemonize yes/')
      for ip in 10.0.0.11 10.0.0.12 10.0.0.13; do # three machines
        [ ! -e "$work/$ip/pid" ] || { kill "$(cat "$work/$ip/pid")" && until_true not ss -Hltn "src $ip" '|' grep -q .; sleep 1; }
        install -d -o redis -g redis "$work/$ip"
        (cd "$work/$ip" && setpriv --reuid redis --regid redis --clear-groups "${start[@]}" --bind "$ip" --dir "$work/$ip" --pidfile "$work/$ip/pid" >/dev/null)
        until_true redis-cli --tls --cacert /etc/redlock/ca.crt -h "$ip" --user probe --pass probe PING
        [ "$1" != restart ] || until_true votes
      done
      ;;
    *redlock-agent.socket)
      systemd-analyze verify --man=no /etc/systemd/system/"$name" /etc/systemd/system/redlock-agent.service
      read -ra start < <(sed -n 's/^ExecStart=//p' /etc/systemd/system/redlock-agent.service)
      install -d -m "$(sed -n 's/^DirectoryMode=//p' "/etc/systemd/system/$name")" /run/redlock
      # systemd-socket-activate passes on PATH, HOME and the variables of --setenv, and no others.
      env -i PATH="$PATH" systemd-socket-activate --listen=/run/redlock/agent.sock --setenv="$(cat /etc/redlock/agent.env)" \
        "${start[@]}" 2>"$work/agent.log" &
      until_true grep '^Listening on' "$work/agent.log"
      ;;
  esac
}
apt-get() { near "apt-get $*: the version that is here stays"; }

# call METHOD PATH [BODY]: a call of the agent, as the page writes it.
call() { curl -fsS --max-time 20 --unix-socket /run/redlock/agent.sock -X "$1" "http://localhost$2" ${3:+-d "$3"}; }

readme() {
  page README.md
  tested 2 "grep -q 'mapfile -t commands' ci/bare.sh # runs them on a bare machine"
  tested 8 "go test ./docs -count=1 -run '^TestFirstLock$'"
  said "go mod tidy" 's/.*/true/' # as above
  said "go build -o redlock ./cmd/redlock"
  for ip in 1 2 3; do setup master 10.0.0.$ip --appendonly yes --appendfsync always; done
  step "redlock init" 's/$/ --max-ttl 5s/' # so that nothing takes a minute
  setup export REDLOCK_MASTERS=redis://10.0.0.1,redis://10.0.0.2,redis://10.0.0.3
  said "redlock run" 's/$/ --name payroll -- true/'
  said "redlock status"
  said "redlock doctor" '' 1 # no passwords yet
  said "redlock agent" 's/$/ --help/'
}

deploy() {
  page docs/DEPLOY.md
  step "cp -r deploy"
  step "sh ../masters/secrets.sh lock-a"
  said "systemctl disable --now redis-server"
  setup cd ../masters
  step "echo vm.overcommit_memory"
  step "install -d"
  step "install -o root"
  step "install -m 0644"
  step "systemctl enable"
  setup cp -r ../masters ../machine
  setup cd ../machine
  step "chown 999"
  step "docker compose up"
  setup cp -r ../redlock/deploy ../kubernetes
  setup cd ../redlock
  step "sh ../masters/secrets.sh redlock-0" 's#masters#kubernetes#' # a copy of their own
  step "kubectl apply -k" 's#masters#kubernetes#'
  setup cd ../masters
  step "export REDLOCK_MASTERS"
  step "redlock init" 's/$/ --max-ttl 5s/'
  step "redlock init" 's/$/ --max-ttl 5s/'
  setup until_true redlock members --user redlock --password-file redlock.password --tls-ca ca.crt
  step "redlock doctor" 's/$/ | tee "$work\/doctor"; grep "^0 faults, 0 warnings, 0 notes$" "$work\/doctor"/'
  setup eval 'test -z "$(redis-cli --tls --cacert ca.crt -h lock-a.example.net --user operator --pass "$(cat operator.password)" ACL LOG)"'
  setup cd ../redlock
  step "CGO_ENABLED=0 go build"
  step "docker build"
  step "kubectl apply -n"
  step "rediss://" 's#PASSWORD#$(cat ../masters/redlock.password)#; s#(.*)#redlock members --masters "\1"#'
  said "redlock run" 's/$/ --name payroll --masters "rediss:\/\/redlock:$(cat ..\/masters\/redlock.password)@lock-a.example.net:6379?tls_ca=\/etc\/redlock\/ca.crt" --wait=0 -E 0 -- true/' 69 # one of three
  setup eval 'export REDLOCK_MASTERS=$(sed "s#//#//redlock:$(cat ../masters/redlock.password)@#g; s#6379#6379?tls_ca=/etc/redlock/ca.crt#g" <<<"$REDLOCK_MASTERS")'
  said "redlock members"
  said "redlock doctor"
  said "apt-get install redis-server"
  said "systemctl restart redlock-master"
  said "docker compose up -d"
  said "kubectl apply -k" 's#$# ../kubernetes#'
}

operations() {
  page docs/OPERATIONS.md
  step "export REDLOCK_MASTERS"
  for ip in 1 2 3; do
    [ $ip = 1 ] && { next "ACL SETUSER operator" && at=$((at - 1)); }
    setup eval "redis-cli -h 10.0.0.$ip <<<\"\${lines[1]}\""
  done
  at=$((at + 1))
  step "REDISCLI_AUTH=PASSWORD redis-cli"
  # Restarting all masters.
  for ip in 1 2 3; do setup kill_master 10.0.0.$ip; setup master 10.0.0.$ip --appendonly yes --appendfsync always; setup until_true votes; done
  step "redlock members"
  step "redlock members --json | jq"
  step "redlock members suspend"
  step "redlock members resume"
  # Replacing a host, growing and shrinking.
  setup eval 'echo PASSWORD >"$work/password" && chmod 600 "$work/password"'
  for ip in 9 4 5; do setup master 10.0.0.$ip; done
  step "redlock members replace" 's#FILE#"$work/password"#'
  setup eval 'export REDLOCK_MASTERS=$(urls 10.0.0.1 10.0.0.9 10.0.0.3)'
  said "redlock members"
  step "redlock members add" 's#FILE#"$work/password"#'
  step "redlock members add" 's#FILE#"$work/password"#'
  step "redlock members remove"
  setup eval 'export REDLOCK_MASTERS=$(urls 10.0.0.1 10.0.0.9 10.0.0.3 10.0.0.4)'
  said "redlock members replace ADDRESS URL" 's#ADDRESS URL#10.0.0.4:6379 redis://redlock:PASSWORD@10.0.0.5:6379#'
  setup eval 'export REDLOCK_MASTERS=$(urls 10.0.0.1 10.0.0.9 10.0.0.3 10.0.0.5)'
  said "redlock members replace" 's/$/ --help/'
  # Rotating passwords, with the masters of DEPLOY.
  for what in rotate retire; do
    said "sh ../masters/secrets.sh $what redlock"
    setup cd ../masters
    if [ $what = rotate ]; then
      said "install -o root -g redis -m 0640 users.acl /etc/redlock/"
      for host in a b c; do
        [ $host = a ] || spans+=("redis-cli --tls --cacert ca.crt --user operator -h HOST acl load")
        said "redis-cli --tls --cacert ca.crt --user operator -h HOST acl load" "s#HOST#lock-$host.example.net#; s#^#REDISCLI_AUTH=\$(cat operator.password) #"
      done
      setup eval 'redlock run --masters rediss://lock-a.example.net:6379,rediss://lock-b.example.net:6379,rediss://lock-c.example.net:6379 --user redlock --password-file redlock.password --tls-ca ca.crt --name rotated -- true'
    fi
    setup cd ../redlock
  done
  said "cp users.acl" 's#(.*)#(cd ../masters \&\& \1 ../machine)#'
  said "docker compose up -d --force-recreate"
  said "kubectl apply -k ../masters" 's#masters#kubernetes#'
  said "ACL SETUSER redlock >NEW" 's#(.*)#redis-cli -h 10.0.0.1 <<<"\1"#'
  said "ACL SETUSER redlock <OLD" 's#<OLD#<NEW#; s#(.*)#redis-cli -h 10.0.0.1 <<<"\1"#'
  # The runbook.
  step "redlock members"
  said "redlock members --json"
  said "redlock doctor"
  said "CONFIG SET maxmemory" 's#(.*)#operator 10.0.0.1 \1 256mb#'
  said "CONFIG SET maxmemory-policy noeviction" 's#^#operator 10.0.0.1 #'
  said "CONFIG SET min-replicas-to-write 0" 's#^#operator 10.0.0.1 #'
  said "REPLICAOF NO ONE" 's#^#operator 10.0.0.4 #'
  said "INFO commandstats" 's#^#operator 10.0.0.1 #'
  said "redlock run --verbose" 's/$/ --name verbose -- true/'
  setup eval 'redlock run --name=stuck -- sleep 30 & holder=$!; until_true eval "redlock status --name stuck | grep -q held"'
  said "redlock status" 's/$/ --name stuck/'
  said "redlock unlock --force --name NAME" 's/NAME/stuck --yes/'
  setup eval 'wait "$holder" || true' # its lock was lost
  # A majority lost its data.
  setup empty 10.0.0.1 10.0.0.9 10.0.0.3
  said "redlock help init" 's/$/ | tail -3/'
  setup sleep 6 # the max ttl
  step "redlock init --force" 's/$/ --max-ttl 5s/'
  step "redlock init --force --yes" 's/$/ --max-ttl 5s/'
  setup redlock run --name again --wait=30s -- true
}

fencing() {
  page docs/FENCING.md
  tested 2 "go test ./docs -count=1 -run '^(Example|TestFencing|TestExamples|TestGoInDocuments)'" # what a piece of code prints
  [ "$mode" != outside ] || run "(cd guard/sqlguard && go test -count=1 -run '^TestStoppedHolderTimesOut$' .)"
  said "redlock init --floor N" 's/N/9000000000000/' # without --yes it changes nothing
  said "redlock run" 's/$/ --name payroll -- printenv REDLOCK_TOKEN/'
}

agent() {
  page docs/AGENT.md
  setup export MASTERS="${REDLOCK_MASTERS:-}"
  step "redlock agent" 's/$/ 2>"$work\/first.log" \& first=$!/'
  setup until_true call GET /readyz
  said "redlock help agent" 's/$/ | tail -3/'
  said "redlock init" 's/$/ --help | tail -3/'
  local method session=SESSION
  for method in POST POST DELETE GET PUT GET POST DELETE POST POST; do
    next "$method "
    inside || continue
    # If there is no session, one is opened first. Some lines close the session.
    [ "$session" != SESSION ] || session=$(call POST /v1/sessions | jq -er .session)
    read -r _ path body <<<"${line//\{session\}/$session}"
    path=${path//\{lock\}/one}
    note "$method $path $body"
    case "$method $path" in
      *events) { curl -sS --max-time 1 --unix-socket /run/redlock/agent.sock "http://localhost$path" || true; } | grep '^event: state' ;;
      "DELETE /v1/sessions/$session") call DELETE "$path" && session=SESSION ;;
      *verify) curl -sS --unix-socket /run/redlock/agent.sock -d "${body/1792713600123/$(jq -r .token "$work/held")}" "http://localhost$path" | jq -e "type == \"object\"" ;; # the lock was unlocked before
      *) call "$method" "$path" "${body/60000/3000}" | tee "$work/said" && jq -e 'type == "object"' "$work/said" >/dev/null && { [ "$method" != PUT ] || cp "$work/said" "$work/held"; } ;; # the max ttl is 5 s
    esac || fail "$method $path"
  done
  setup eval 'echo secret >"$work/token" && chmod 600 "$work/token"'
  step "redlock agent" 's#cert FILE#cert ../masters/tls.crt#; s#key FILE#key ../masters/tls.key#; s#FILE#"$work/token"#; s#$# 2>"$work/tcp.log" \& tcp=$!#'
  setup until_true curl -fsS --cacert ../masters/ca.crt --resolve lock-a.example.net:7480:10.0.0.7 https://lock-a.example.net:7480/readyz
  setup eval 'kill "$first" "$tcp"; wait "$first" "$tcp" || true'
  setup eval 'redlock agent --socket "$work/probed/s" --metrics :9464 2>/dev/null & probed=$!; until_true curl -fsS http://127.0.0.1:9464/readyz'
  step "curl -fsS" 's/$/ | grep -c ^redlock_/'
  setup eval 'kill "$probed"; wait "$probed" || true; useradd payroll'
  step "groupadd"
  step "usermod"
  step "install -d"
  step "(umask"
  step "install -m 0755"
  step "install -m 0644"
  step "systemctl enable"
  setup call GET /readyz
  setup curl -fsS --max-time 10 http://127.0.0.1:9464/livez
  setup eval 'python3 -m venv "$work/venv" && PATH=$work/venv/bin:$PATH'
  step "pip install" 's/$/ \&\& python3 -c "import redlock_agent"/'
  step "npm install" "s/\$/ \\&\\& node -e \"require('redlock-agent').Session\"/"
  step "python3 conformance.py" 's/(.*)/(cd cmd\/redlock\/agent\/clients \&\& \1)/'
  tested 1 "(cd guard/e2e && go test -count=1 -run TestAgent .)"
}

migration() {
  page docs/migrate/README.md
  said "redlock init" 's/$/ --help | tail -3/'
  page docs/migrate/redsync.md
  [ "$mode" != outside ] || run "(cd bench && go test -count=1 -run '^(TestKeepOld|TestStepsExcludeEachOther|TestWorkEndsWithOldLock)$' .)"
  said "redlock init" 's/$/ --help | tail -3/'
}

walk() {
  readme
  deploy
  operations
  fencing
  agent
  migration
  over
  page=''
}

case ${1:-} in
  -n) walk ;;
  inside)
    work=$2
    trap '[ $? = 0 ] || { echo "walk: $page failed; what the agents wrote:"; tail -n 20 "$work"/*.log || true; } >&2' EXIT
    ip link set lo up
    for n in 1 2 3 4 5 7 9 11 12 13; do ip addr add "10.0.0.$n/32" dev lo; done
    mount -t tmpfs walk "$work/over"
    for folder in /etc /usr/local/bin; do
      name=${folder//\//_}
      mkdir "$work/over/$name" "$work/over/$name.work"
      mount -t overlay walk -o "lowerdir=$folder,upperdir=$work/over/$name,workdir=$work/over/$name.work" "$folder"
    done
    mount -t tmpfs walk /run
    printf '10.0.0.11 lock-a.example.net\n10.0.0.12 lock-b.example.net\n10.0.0.13 lock-c.example.net\n' >>/etc/hosts
    printf 'hosts: files\n' >/etc/nsswitch.conf
    getent group redis >/dev/null || groupadd --system redis
    id redis >/dev/null 2>&1 || useradd --system --gid redis redis
    cd "$work/redlock"
    unset REDLOCK_MASTERS
    export PATH=$work/bin:$PATH GOPROXY=off CGO_ENABLED=0
    mkdir "$work/bin" && go build -o "$work/bin/redlock" ./cmd/redlock
    walk
    echo "== walked in $SECONDS s"
    ;;
  ''|-*) echo "usage: ci/walk.sh FOLDER | -n" >&2; exit 2 ;;
  *)
    [ "$(id -u)" = 0 ] || { echo "it must run as root" >&2; exit 1; }
    WALK=check walk
    mkdir -p "$1"
    exec > >(tee "$1/walk.log") 2>&1
    mode=outside
    walk
    work=$(mktemp -d /var/tmp/redlock-walk-XXXXXX)
    trap 'rm -rf --one-file-system "$work"' EXIT
    chmod 755 "$work"
    mkdir "$work/redlock" "$work/over"
    git ls-files -z | tar -c --null -T - | tar -x -C "$work/redlock"
    WALK=inside unshare --mount --net --pid --fork --kill-child --mount-proc "$work/redlock/ci/walk.sh" inside "$work"
    echo "== all in $SECONDS s"
    ;;
esac
