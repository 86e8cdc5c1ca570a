#!/usr/bin/env bash
# Write everything in the database to one file.
#
#   deploy/backup.sh FILE
#
# Reads DATABASE_URL ("set -a; . .local/server/env" sets it). The file appears when it is complete,
# readable by you alone: it holds the team's memory. deploy/restore.sh puts it into an empty
# database; plain pg_restore does not bring the graphs back to life.
set -euo pipefail
# shellcheck source=deploy/postgres/client.sh
. "$(dirname "${BASH_SOURCE[0]}")/postgres/client.sh"

main() {
    [ $# -eq 1 ] || fail "usage: deploy/backup.sh FILE"
    local file=$1
    [ -n "${DATABASE_URL:-}" ] || fail "DATABASE_URL is not set: which database is to be saved?"
    [ ! -e "$file" ] || fail "$file exists already: choose another name."
    [ -d "$(dirname "$file")" ] || fail "the folder $(dirname "$file") does not exist."
    require_programs pg_dump

    use_address "$DATABASE_URL"
    PARTIAL=$file.partial
    trap 'rm -f "$PARTIAL"' EXIT
    # All graphs or none: a dump that leaves one graph's schema out cannot be restored.
    # codemem_readers is provision.sql's: it is there before anything is restored.
    (umask 077 && pg_dump --dbname="$ADDRESS" --format=custom --exclude-schema=codemem_readers \
        --file="$PARTIAL") ||
        fail "pg_dump failed (see above); nothing was written."
    sync "$PARTIAL"
    mv "$PARTIAL" "$file"
    echo "backup.sh: wrote $file ($(du -h "$file" | cut -f1))"
}

main "$@"
