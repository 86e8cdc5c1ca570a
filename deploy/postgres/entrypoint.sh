#!/usr/bin/env bash
# Start the image's PostgreSQL: create the cluster at the first start, bring roles, databases and
# extensions up to date at every start, then become the server. Arguments go to the server:
#   docker run ... codemem-postgres -c shared_buffers=4GB
#
# CODEMEM_DATABASE_PASSWORD is the password of the role codemem, set anew at every start.
set -euo pipefail

readonly SETTINGS=${CODEMEM_SETTINGS:-/opt/codemem/deploy/postgres}
readonly SOCKET_FOLDER=${CODEMEM_SOCKET_FOLDER:-/var/run/postgresql}
SERVER=(
    postgres -D "$PGDATA" -c "config_file=$SETTINGS/postgresql.conf" -c "hba_file=$SETTINGS/pg_hba.conf"
    -c "unix_socket_directories=$SOCKET_FOLDER"
)
readonly SERVER

main() {
    [ -n "${CODEMEM_DATABASE_PASSWORD:-}" ] ||
        fail "CODEMEM_DATABASE_PASSWORD is not set: choose the password of the role codemem."
    create_cluster
    provision "$@"
    unset CODEMEM_DATABASE_PASSWORD
    exec "${SERVER[@]}" -c "listen_addresses=*" "$@"
}

# Made aside and moved into place, so an interrupted first start leaves nothing that looks like a cluster.
create_cluster() {
    [ ! -e "$PGDATA/PG_VERSION" ] || return 0
    local unfinished=$PGDATA.unfinished
    rm -rf "$unfinished"
    initdb -D "$unfinished" --username=postgres --auth=trust --encoding=UTF8 --locale=C \
        --locale-provider=builtin --builtin-locale=C.UTF-8 --data-checksums
    mv "$unfinished" "$PGDATA"
}

# Without a network address: nobody else sees a database that is not ready.
provision() {
    "${SERVER[@]}" -c "listen_addresses=" "$@" &
    local server=$!
    until pg_isready --quiet --host="$SOCKET_FOLDER"; do
        kill -0 "$server" 2>/dev/null || fail "PostgreSQL did not start (see above)."
        sleep 0.1
    done
    admin_sql template1 provision
    admin_sql postgres role
    admin_sql codemem provision
    kill -INT "$server"
    wait "$server" || fail "PostgreSQL did not stop cleanly after its preparation (see above)."
}

admin_sql() {
    psql --host="$SOCKET_FOLDER" --username=postgres --dbname="$1" --no-psqlrc --quiet \
        --set=ON_ERROR_STOP=1 --file="$SETTINGS/$2.sql"
}

fail() {
    echo "entrypoint: $*" >&2
    exit 1
}

main "$@"
