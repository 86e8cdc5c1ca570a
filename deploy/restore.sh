#!/usr/bin/env bash
# Put a file that deploy/backup.sh wrote into an empty database.
#
#   deploy/restore.sh FILE DATABASE
#
# Reads DATABASE_ADMIN_URL, a superuser's address ("set -a; . .local/server/env" sets it): only a
# superuser can write AGE's catalog. DATABASE must exist and be empty; what is restored belongs to
# its owner. All or nothing: a restore that fails leaves the database empty.
set -euo pipefail
HERE=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=deploy/postgres/client.sh
. "$HERE/postgres/client.sh"

main() {
    [ $# -eq 2 ] || fail "usage: deploy/restore.sh FILE DATABASE"
    local file=$1 database=$2
    [ -n "${DATABASE_ADMIN_URL:-}" ] || fail "DATABASE_ADMIN_URL is not set: a superuser's address is needed."
    [ -r "$file" ] || fail "cannot read $file."
    require_programs pg_restore psql
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT

    list_contents "$file"
    find_owner "$database"
    use_address "$(in_database "$DATABASE_ADMIN_URL" "$database")"
    check_is_empty "$database"
    sql --file="$HERE/postgres/provision.sql"
    restoring_script "$file" | sql --single-transaction --file=- >/dev/null ||
        fail "the restore failed (see above); $database is as empty as before."
    # The repaired catalog is read afresh by a new connection.
    sql --command='analyze'
    echo "restore.sh: restored $file into $database, which belongs to $OWNER"
}

# AGE's two catalog tables belong to the superuser, everything else to the application. Extensions
# and casts are provision.sql's.
list_contents() {
    pg_restore --list "$1" >"$WORK/contents" 2>"$WORK/error" ||
        fail "$1 is not a backup that this pg_restore can read: $(head -1 "$WORK/error")"
    grep -E ' TABLE DATA ag_catalog ag_(graph|label) ' "$WORK/contents" >"$WORK/catalog" || true
    grep -vE ' (TABLE DATA|SEQUENCE SET) ag_catalog | EXTENSION - | SCHEMA - ag_catalog | CAST - CAST ' \
        "$WORK/contents" >"$WORK/application"
}

find_owner() {
    use_address "$DATABASE_ADMIN_URL"
    OWNER=$(sql --tuples-only --no-align --set=database="$1" <<<"
        select pg_get_userbyid(datdba) from pg_database where datname = :'database'")
    [ -n "$OWNER" ] || fail "there is no database $1. Create it first: createdb $1 (as the application's role)."
}

check_is_empty() {
    local relations
    relations=$(sql --tuples-only --no-align --command="
        select count(*) from pg_class c
        where relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
          and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass
                          and d.deptype in ('e', 'i', 'a'))
          and relkind in ('r', 'p', 'v', 'm', 'S')")
    [ "$relations" -eq 0 ] || fail "the database $1 is not empty ($relations relations): restore into an empty one."
}

restoring_script() {
    printf 'set role %s;\n' "$(quoted "$OWNER")"
    pg_restore --no-owner --no-privileges --no-comments --use-list="$WORK/application" --file=- "$1"
    echo 'reset role;'
    if [ -s "$WORK/catalog" ]; then
        pg_restore --use-list="$WORK/catalog" --file=- "$1"
    fi
    echo 'reset all;'
    cat "$HERE/postgres/after_restore.sql"
}

quoted() {
    printf '"%s"' "${1//\"/\"\"}"
}

sql() {
    psql --dbname="$ADDRESS" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@"
}

main "$@"
