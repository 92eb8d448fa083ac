#!/usr/bin/env bash
# Requests the external pages that documents and Go comments link to. Prints the dead links, and fails if there are any.
#
#   ci/links.sh [FOLDER]    by default the repository
set -euo pipefail
cd "${1:-"$(dirname "$0")/.."}"

link='https?://[[:alnum:]][^]()<>|"`[:space:]]*[[:alnum:]/]'
# These hosts are placeholders, which readers replace by their own.
readers='^https?://([^/]*\.)?(localhost|example(\.com|\.net|\.org)?|[0-9.]+)(:[0-9]+)?(/|$)'

# places prints the links, one a line, each after its file and line.
places() {
  grep -rnoE --exclude-dir=.git --include='*.md' "$link" . | sed -E 's/:(https?:)/ \1/'
  grep -rnoE --exclude-dir=.git --include='*.go' "^[[:space:]]*//.*$link" . | sed -E 's/:[[:space:]]*\/\/.*(https?:)/ \1/'
}

# ask prints the HTTP status of a page, after redirects, or 000 if there is no answer. It tries again after 000, 429 and 5xx.
ask() {
  curl --silent --location --max-time 30 --retry 3 --retry-all-errors --output /dev/null --write-out '%{http_code}' "$@" || true
}

all=$(places || true)
links=$(cut -d ' ' -f 2 <<<"$all" | sort -u | grep -vE "$readers") || { echo "there are no links" >&2; exit 1; }
dead=0
for url in $links; do
  status=$(ask --head "$url")
  [[ $status == 2* ]] || status=$(ask "$url") # not all servers support HEAD
  case $status in
    2* | 401 | 403 | 429) ;; # exists, or refuses programs
    *)
      dead=$((dead + 1))
      awk -v url="$url" -v status="${status/000/no answer}" '$2 == url { print $1 ": " url ": " status }' <<<"$all"
      ;;
  esac
done
echo "$dead of $(wc -l <<<"$links") links are dead" >&2
[ "$dead" = 0 ]
