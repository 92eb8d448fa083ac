#!/bin/sh
# Makes the passwords and the certificates of a deployment, in the folder of this file:
#
#   secrets.sh HOST...    the names by which clients reach the masters
#
# redlock.password and operator.password, and users.acl with them; ca.crt and ca.key; tls.crt and tls.key, valid for a year. Nothing
# that is there is made anew, but tls.crt and tls.key are when they are gone.
set -eu
umask 077
cd "$(dirname "$0")"
[ $# -gt 0 ] || { echo "usage: secrets.sh HOST..." >&2; exit 2; }

for user in redlock operator; do
  [ -e $user.password ] || openssl rand -hex 24 >$user.password
  name=$(echo $user | tr a-z A-Z)
  sed "s/$name-PASSWORD/$(cat $user.password)/" users.acl >users.new
  mv users.new users.acl
done

if [ ! -e ca.crt ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -keyout ca.key -out ca.crt -days 3650 -subj "/CN=redlock masters" 2>/dev/null
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
fi
