#!/bin/sh
# Makes and rotates the passwords and the certificates of a deployment, in the folder of this file:
#
#   secrets.sh HOST...       makes missing files. HOST... are the names by which clients reach the masters
#   secrets.sh rotate USER   gives redlock or operator a new password beside the old one: users.acl accepts both
#   secrets.sh retire USER   takes the old password out of users.acl
#
# The files are redlock.password and operator.password, which it also writes into users.acl; ca.crt and ca.key; tls.crt and tls.key,
# which are valid for a year. To make a new certificate, remove tls.crt first.
set -eu
umask 077
cd "$(dirname "$0")"

usage() {
  echo "usage: secrets.sh HOST... | secrets.sh rotate USER | secrets.sh retire USER, where USER is redlock or operator" >&2
  exit 2
}

# fail MESSAGE prints the message and ends the script. It is called before any change.
fail() {
  echo "secrets.sh: $1" >&2
  exit 1
}

# accept FROM FILE TO replaces FROM by TO in users.acl, in place, because a container may have mounted users.acl. FILE has the
# password in FROM. FROM and TO have only letters, digits, blanks, and > before a password.
accept() {
  grep -q -- "$1" users.acl || fail "users.acl has no password $2 of $user: it is not the file that this script made"
  changed=$(sed "s/$1/$3/" users.acl)
  echo "$changed" >users.acl
}

case ${1:-} in
  '') usage ;;
  rotate | retire)
    [ $# = 2 ] || usage
    user=$2
    case $user in redlock | operator) ;; *) usage ;; esac
    [ -e "$user.password" ] || fail "$user.password is not here: secrets.sh HOST... makes it"
    if [ "$1" = rotate ]; then
      [ ! -e "$user.password.old" ] || fail "$user has two passwords already: secrets.sh retire $user removes the old one"
      old=$(cat "$user.password") new=$(openssl rand -hex 24)
      accept " >$old " "$user.password" " >$new >$old "
      mv "$user.password" "$user.password.old"
      echo "$new" >"$user.password"
      echo "users.acl accepts $user.password and $user.password.old: load it on each master, then restart the programs with $user.password"
    else
      [ -e "$user.password.old" ] || fail "$user has one password: secrets.sh rotate $user makes another"
      accept " >$(cat "$user.password.old") " "$user.password.old" " "
      rm "$user.password.old"
      echo "users.acl accepts $user.password only: load it on each master"
    fi
    exit
    ;;
esac

for user in redlock operator; do
  if [ ! -e $user.password ]; then
    openssl rand -hex 24 >$user.password
    echo "made $user.password, and wrote it into users.acl"
  fi
  name=$(echo $user | tr a-z A-Z)
  changed=$(sed "s/$name-PASSWORD/$(cat $user.password)/" users.acl)
  echo "$changed" >users.acl
done

if [ ! -e ca.crt ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -keyout ca.key -out ca.crt -days 3650 -subj "/CN=redlock masters" 2>/dev/null
  echo "made ca.crt and ca.key"
fi
if [ ! -e tls.crt ] || [ ! -e tls.key ]; then
  names=
  for host; do
    case $host in
      *[!0-9.]*) names=$names,DNS:$host ;;
      *) names=$names,IP:$host ;;
    esac
  done
  openssl req -x509 -CA ca.crt -CAkey ca.key -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -keyout tls.key -out tls.crt -days 365 \
    -subj "/CN=redlock master" -addext "subjectAltName=${names#,}" -addext basicConstraints=critical,CA:FALSE 2>/dev/null
  echo "made tls.crt and tls.key for $*"
else
  for host; do
    case $host in
      *[!0-9.]*) check=-checkhost ;;
      *) check=-checkip ;;
    esac
    ! openssl x509 -in tls.crt -noout $check "$host" | grep -q 'NOT match' ||
      fail "tls.crt is not for $host: remove tls.crt, and run this again with the names of all masters"
  done
  echo "kept tls.crt and tls.key, which are for $*"
fi
