#!/usr/bin/env bash
# Run PostgreSQL and Redis for one folder, as an ordinary user or as root, in the background.
#
#   deploy/services.sh up INSTANCE_DIR                 start what is not running, then show where it is
#   deploy/services.sh down INSTANCE_DIR               stop what this instance started
#   deploy/services.sh status INSTANCE_DIR             say what runs; exit status 3 when something does not
#   deploy/services.sh env INSTANCE_DIR                print the settings for the application
#   deploy/services.sh restart-postgres INSTANCE_DIR   stop and start PostgreSQL, keeping its address
#
# An instance is a folder: pg/ and redis/ hold the data, log/ the logs, env (mode 0600)
# DATABASE_URL, REDIS_URL and DATABASE_ADMIN_URL. Both servers listen on this machine only, on
# ports chosen at the first start and kept while they are free. The superuser is reached through a
# private Unix socket only. Deleting the folder of a stopped instance deletes everything.
#
# Environment:
#   DATABASE_URL, REDIS_URL          servers of your own: nothing is started in their place
#   CODEMEM_PG_SHARED_BUFFERS, CODEMEM_PG_EFFECTIVE_CACHE_SIZE, CODEMEM_PG_WORK_MEM,
#   CODEMEM_PG_MAINTENANCE_WORK_MEM, CODEMEM_PG_MAX_CONNECTIONS
#                                    replace deploy/postgres/postgresql.conf's values at the next start
#   CODEMEM_PG_FSYNC=off             faster, and the data does not survive a power cut: for tests
set -euo pipefail
umask 022
# Settings of the caller's own PostgreSQL and libraries must not reach these servers.
unset "${!PG@}" LD_LIBRARY_PATH LD_PRELOAD
export LC_ALL=C

CHECKOUT=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
readonly CHECKOUT
readonly SETTINGS=$CHECKOUT/deploy
readonly BUNDLE=$CHECKOUT/.local/services
readonly NOBODY=65534
readonly LONGEST_SOCKET_FOLDER=92 # the kernel allows 107 bytes; PostgreSQL appends /.s.PGSQL.65535
readonly START_SECONDS=120 # a crash recovery may replay up to max_wal_size
readonly STOP_SECONDS=60
readonly LEFT_OVER_SECONDS=20

main() {
    [ $# -eq 2 ] || usage
    INSTANCE=$(realpath -m "$2")
    POSTGRES_DATA=$INSTANCE/pg
    REDIS_DATA=$INSTANCE/redis
    case $1 in
        up) locked up ;;
        down) locked down ;;
        restart-postgres) locked restart_postgres ;;
        status) status ;;
        env) print_env ;;
        *) usage ;;
    esac
}

usage() {
    fail "usage: services.sh up|down|status|env|restart-postgres INSTANCE_DIR"
}

# --- commands -----------------------------------------------------------------------------------

up() {
    read_state
    if wants_own_postgres || wants_own_redis; then
        choose_account
    fi
    if wants_own_postgres; then
        ensure_postgres
        DATABASE=$OWN_DATABASE_URL ADMIN=$(own_admin_url)
    else
        DATABASE=$DATABASE_URL ADMIN=${DATABASE_ADMIN_URL:-}
    fi
    if wants_own_redis; then
        ensure_redis
        REDIS=$OWN_REDIS_URL
    else
        REDIS=$REDIS_URL
    fi
    write_env
    say "PostgreSQL on $(place "$DATABASE"), Redis on $(place "$REDIS"); settings in $INSTANCE/env"
}

down() {
    read_state
    stop_postgres
    stop_redis
    rmdir "$SOCKET_FOLDER" 2>/dev/null || true
    say "nothing of $INSTANCE is running"
}

restart_postgres() {
    read_state
    [ -e "$POSTGRES_DATA/PG_VERSION" ] || fail "$INSTANCE has no PostgreSQL of its own to restart."
    choose_account
    stop_postgres
    ensure_postgres
    say "PostgreSQL restarted on $(place "$OWN_DATABASE_URL")"
}

status() {
    local code=0
    read_state
    if [ -n "$(postgres_pid)" ]; then
        echo "postgres: running on 127.0.0.1:$POSTGRES_PORT (pid $(postgres_pid))"
    elif env_names_another DATABASE_URL "$OWN_DATABASE_URL"; then
        echo "postgres: not ours, DATABASE_URL was given"
    else
        echo "postgres: not running"
        code=3
    fi
    if [ -n "$(redis_pid)" ]; then
        echo "redis: running on 127.0.0.1:$REDIS_PORT (pid $(redis_pid))"
    elif env_names_another REDIS_URL "$OWN_REDIS_URL"; then
        echo "redis: not ours, REDIS_URL was given"
    else
        echo "redis: not running"
        code=3
    fi
    return "$code"
}

print_env() {
    [ -r "$INSTANCE/env" ] || fail "$INSTANCE/env is not there: run 'deploy/services.sh up $INSTANCE' first."
    cat "$INSTANCE/env"
}

# One command at a time for one instance; a second waits for the first.
locked() {
    if [ "$1" = down ] && [ ! -d "$INSTANCE" ]; then
        say "nothing of $INSTANCE is running"
        return
    fi
    mkdir -p "$INSTANCE/log" || fail "cannot write to $INSTANCE."
    chmod 700 "$INSTANCE/log" # slow statements are logged with their text
    exec 9>"$INSTANCE/lock"
    flock --wait 300 9 || fail "another services.sh has been busy with $INSTANCE for five minutes."
    "$@"
}

# --- what an instance remembers -----------------------------------------------------------------

read_state() {
    POSTGRES_PORT='' POSTGRES_PASSWORD='' REDIS_PORT='' REDIS_PASSWORD='' SOCKET_FOLDER='' PROVISIONED=''
    if [ -r "$INSTANCE/state" ]; then
        # shellcheck source=/dev/null
        . "$INSTANCE/state"
    elif [ -e "$INSTANCE/state" ]; then
        fail "$INSTANCE/state belongs to another account: run this as that account."
    fi
    derive_urls
}

derive_urls() {
    OWN_DATABASE_URL=postgresql://codemem:$POSTGRES_PASSWORD@127.0.0.1:$POSTGRES_PORT/codemem
    OWN_REDIS_URL=redis://:$REDIS_PASSWORD@127.0.0.1:$REDIS_PORT/0
}

# The state is read by this script as shell: every value in it is quoted.
write_state() {
    local name
    derive_urls
    for name in POSTGRES_PORT POSTGRES_PASSWORD REDIS_PORT REDIS_PASSWORD SOCKET_FOLDER PROVISIONED; do
        printf '%s=%q\n' "$name" "${!name}"
    done | write_private "$INSTANCE/state"
}

# Other settings that somebody added to the file stay.
write_env() {
    {
        grep -vE '^(DATABASE_URL|REDIS_URL|DATABASE_ADMIN_URL)=' "$INSTANCE/env" 2>/dev/null || true
        echo "DATABASE_URL=$DATABASE"
        echo "REDIS_URL=$REDIS"
        if [ -n "$ADMIN" ]; then
            echo "DATABASE_ADMIN_URL=$ADMIN"
        fi
    } | write_private "$INSTANCE/env"
}

# Readers see the old file or the new one, never half of it.
write_private() {
    (umask 077 && cat >"$1.new")
    mv -f "$1.new" "$1"
}

own_admin_url() {
    echo "postgresql://postgres@$(percent_encoded "$SOCKET_FOLDER"):$POSTGRES_PORT/codemem"
}

percent_encoded() {
    local text=$1 index character
    for ((index = 0; index < ${#text}; index++)); do
        character=${text:index:1}
        case $character in
            [A-Za-z0-9._~-]) printf '%s' "$character" ;;
            *) printf '%%%02X' "'$character" ;;
        esac
    done
}

# The caller may carry the instance's own URL (from an earlier env): that is not a server of the
# user's.
wants_own_postgres() {
    [ -z "${DATABASE_URL:-}" ] || [ "$DATABASE_URL" = "$OWN_DATABASE_URL" ]
}

wants_own_redis() {
    [ -z "${REDIS_URL:-}" ] || [ "$REDIS_URL" = "$OWN_REDIS_URL" ]
}

env_names_another() {
    [ -r "$INSTANCE/env" ] && ! grep -qxF "$1=$2" "$INSTANCE/env"
}

# Host, port and database of a URL: what may be shown.
place() {
    echo "${1##*@}"
}

# --- the account that runs the servers ----------------------------------------------------------

# PostgreSQL refuses to run as root. Root therefore lends the servers an account that owns nothing
# else; where that account cannot reach the folders, a user namespace in which root's files belong
# to an ordinary user does as well.
choose_account() {
    ensure_bundle
    AS=()
    OWNER=$(id -u)
    [ "$OWNER" -eq 0 ] || return 0
    local as_nobody=(setpriv "--reuid=$NOBODY" "--regid=$NOBODY" --clear-groups)
    local as_mapped=(unshare --user "--map-user=$NOBODY" "--map-group=$NOBODY")
    local can_run=("$BUNDLE/bin/postgres" --version)
    if "${as_nobody[@]}" test -x "$INSTANCE" 2>/dev/null && "${as_nobody[@]}" "${can_run[@]}" &>/dev/null; then
        AS=("${as_nobody[@]}")
        OWNER=$NOBODY
    elif "${as_mapped[@]}" "${can_run[@]}" &>/dev/null; then
        AS=("${as_mapped[@]}")
    else
        fail "PostgreSQL does not run as root, the account 'nobody' may not enter $INSTANCE or $BUNDLE, and this" \
            "machine allows no user namespaces. Run this as an ordinary user, or keep the checkout in a folder that" \
            "everybody may enter (chmod a+x on each folder above it)."
    fi
}

# Quiet when there is nothing to do; the progress of an unpacking is shown.
ensure_bundle() {
    "$SETTINGS/postgres/bundle.sh" "$BUNDLE" 9>&- | sed -un '/^bundle: /p' ||
        fail "the servers could not be unpacked into $BUNDLE."
}

# Make a folder that only the servers' account may enter, or take over one that another run left.
own_folder() {
    mkdir -p "$1"
    chmod 700 "$1"
    if [ "$(stat -c %u "$1")" != "$OWNER" ]; then
        chown -R "$OWNER" "$1" 2>/dev/null ||
            fail "$1 belongs to $(stat -c %U "$1"): run this as that account, or delete $INSTANCE."
    fi
}

# --- PostgreSQL ---------------------------------------------------------------------------------

ensure_postgres() {
    [ -e /usr/share/zoneinfo/UTC ] || fail "PostgreSQL needs the time zone files: install the package tzdata."
    POSTGRES_PASSWORD=${POSTGRES_PASSWORD:-$(new_password)}
    if [ -z "$(postgres_pid)" ]; then
        create_cluster
        wait_until_nobody_uses "$POSTGRES_DATA"
        choose_socket_folder
        POSTGRES_PORT=$(keep_or_choose_port "$POSTGRES_PORT")
        write_state
        configure_postgres
        drop_misleading_pid_files
        launch postgres "${AS[@]}" "$BUNDLE/bin/postgres" -D "$POSTGRES_DATA"
    fi
    await PostgreSQL postgres postgres_is_ready
    provision_postgres
}

# Made aside and moved into place, so an interrupted start leaves nothing that looks like a cluster.
# C.UTF-8 is built in: text sorts the same whatever C library reads the data later.
create_cluster() {
    local unfinished=$POSTGRES_DATA.unfinished
    if [ -e "$POSTGRES_DATA/PG_VERSION" ]; then
        own_folder "$POSTGRES_DATA"
        return
    fi
    [ ! -e "$POSTGRES_DATA" ] || rmdir "$POSTGRES_DATA" 2>/dev/null ||
        fail "$POSTGRES_DATA holds something that is not a PostgreSQL cluster: move it away."
    say "creating a PostgreSQL cluster in $POSTGRES_DATA"
    rm -rf "$unfinished"
    own_folder "$unfinished"
    (cd "$unfinished" && "${AS[@]}" "$BUNDLE/bin/initdb" -D "$unfinished" --username=postgres --auth=trust \
        --encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8 --data-checksums --no-sync \
        >"$INSTANCE/log/initdb.log" 2>&1) || fail_with_log "PostgreSQL's initdb failed" initdb
    sync -f "$unfinished"
    PROVISIONED=''
    mv "$unfinished" "$POSTGRES_DATA"
}

choose_socket_folder() {
    local inside=$INSTANCE/socket
    if [ ${#inside} -le $LONGEST_SOCKET_FOLDER ] && [[ $inside =~ ^[A-Za-z0-9/._-]+$ ]]; then
        SOCKET_FOLDER=$inside
    elif [[ $SOCKET_FOLDER != /tmp/* ]] || [ "$(stat -c %u "$SOCKET_FOLDER" 2>/dev/null)" != "$OWNER" ]; then
        SOCKET_FOLDER=$(mktemp -d /tmp/codemem-socket.XXXXXXXX)
    fi
    own_folder "$SOCKET_FOLDER"
}

configure_postgres() {
    check_preload_libraries
    {
        cat "$SETTINGS/postgres/postgresql.conf"
        echo
        echo "# This instance (written by deploy/services.sh at every start)."
        echo "listen_addresses = '127.0.0.1'"
        echo "port = $POSTGRES_PORT"
        echo "unix_socket_directories = '$SOCKET_FOLDER'"
        echo "unix_socket_permissions = 0700"
        overridden_settings
    } >"$POSTGRES_DATA/postgresql.conf"
    cp "$SETTINGS/postgres/pg_hba.conf" "$POSTGRES_DATA/pg_hba.conf"
    chown "$OWNER" "$POSTGRES_DATA"/{postgresql,pg_hba}.conf
}

check_preload_libraries() {
    local library
    for library in $(preload_libraries); do
        compgen -G "$BUNDLE/usr/lib/postgresql/*/lib/$library.so" >/dev/null ||
            fail "the unpacked PostgreSQL has no library $library, which deploy/postgres/postgresql.conf loads."
    done
}

preload_libraries() {
    sed -n "s/^shared_preload_libraries = '\(.*\)'/\1/p" "$SETTINGS/postgres/postgresql.conf" | tr , ' '
}

overridden_settings() {
    local setting variable
    for setting in shared_buffers effective_cache_size work_mem maintenance_work_mem max_connections fsync; do
        variable=CODEMEM_PG_${setting^^}
        [ -z "${!variable:-}" ] || echo "$setting = '${!variable//\'/}'"
    done
    if [ "${CODEMEM_PG_FSYNC:-}" = off ]; then
        echo "synchronous_commit = off"
        echo "full_page_writes = off"
    fi
}

# A pid file whose number now belongs to another program would make PostgreSQL refuse to start. When
# the number belongs to nobody PostgreSQL sorts it out itself, and checks shared memory as well.
drop_misleading_pid_files() {
    local file pid
    for file in "$POSTGRES_DATA/postmaster.pid" "$SOCKET_FOLDER"/.s.PGSQL.*.lock; do
        if [ -e "$file" ] && pid=$(head -1 "$file") && [ -e "/proc/$pid" ]; then
            rm -f "$file"
        fi
    done
}

postgres_pid() {
    verified_pid "$POSTGRES_DATA/postmaster.pid" "$POSTGRES_DATA"
}

postgres_is_ready() {
    "$BUNDLE/bin/pg_isready" --quiet --host="$SOCKET_FOLDER" --port="$POSTGRES_PORT"
}

stop_postgres() {
    stop PostgreSQL "$(postgres_pid)" INT
}

# Only when the SQL or the extensions changed since the last time.
provision_postgres() {
    local provision=$SETTINGS/postgres/provision.sql role=$SETTINGS/postgres/role.sql wanted
    wanted=$(cat "$provision" "$role" "$BUNDLE/.complete" | sha256sum | cut -d' ' -f1)
    [ "$PROVISIONED" != "$wanted" ] || return 0
    say "preparing the database"
    admin_sql template1 <"$provision"
    CODEMEM_DATABASE_PASSWORD=$POSTGRES_PASSWORD admin_sql postgres <"$role"
    admin_sql codemem <"$provision"
    PROVISIONED=$wanted
    write_state
}

admin_sql() {
    "$BUNDLE/bin/psql" --host="$SOCKET_FOLDER" --port="$POSTGRES_PORT" --username=postgres --dbname="$1" \
        --no-psqlrc --quiet --set=ON_ERROR_STOP=1 >"$INSTANCE/log/provision.log" 2>&1 ||
        fail_with_log "preparing the database $1 failed" provision
}

# --- Redis --------------------------------------------------------------------------------------

ensure_redis() {
    REDIS_PASSWORD=${REDIS_PASSWORD:-$(new_password)}
    if [ -z "$(redis_pid)" ]; then
        own_folder "$REDIS_DATA"
        wait_until_nobody_uses "$REDIS_DATA"
        REDIS_PORT=$(keep_or_choose_port "$REDIS_PORT")
        write_state
        configure_redis
        rm -f "$REDIS_DATA/redis.pid"
        launch redis "${AS[@]}" "$BUNDLE/bin/redis-server" "$REDIS_DATA/redis.conf"
    fi
    await Redis redis redis_is_ready
}

configure_redis() {
    {
        cat "$SETTINGS/redis.conf"
        cat <<CONF

# This instance (written by deploy/services.sh at every start).
bind 127.0.0.1
port $REDIS_PORT
requirepass $REDIS_PASSWORD
dir "$REDIS_DATA"
pidfile "$REDIS_DATA/redis.pid"
set-proc-title no
CONF
    } | write_private "$REDIS_DATA/redis.conf"
    chown "$OWNER" "$REDIS_DATA/redis.conf"
}

redis_pid() {
    verified_pid "$REDIS_DATA/redis.pid" "$REDIS_DATA/redis.conf"
}

redis_is_ready() {
    [ "$(REDISCLI_AUTH=$REDIS_PASSWORD "$BUNDLE/bin/redis-cli" -h 127.0.0.1 -p "$REDIS_PORT" ping 2>/dev/null)" = PONG ]
}

stop_redis() {
    stop Redis "$(redis_pid)" TERM
}

# --- processes ----------------------------------------------------------------------------------

# Start a server that outlives this script, its terminal and every pipe the caller holds ("make up
# | tail" ends).
launch() {
    local log=$INSTANCE/log/$1.log descriptor
    shift
    (
        for descriptor in /proc/self/fd/*; do
            descriptor=${descriptor##*/}
            if [ "$descriptor" -gt 2 ] && [ "$descriptor" -ne 255 ]; then
                eval "exec $descriptor>&-"
            fi
        done
        cd "$INSTANCE"
        unset DATABASE_URL DATABASE_ADMIN_URL REDIS_URL
        HOME=/nonexistent exec setsid "$@"
    ) </dev/null >>"$log" 2>&1 &
    LAUNCHED=$!
}

# Wait until the server answers; a server that ended meanwhile is reported with its last words.
await() {
    local name=$1 log=$2 is_ready=$3 deadline=$((SECONDS + START_SECONDS))
    until "$is_ready"; do
        [ -z "${LAUNCHED:-}" ] || kill -0 "$LAUNCHED" 2>/dev/null || fail_with_log "$name did not start" "$log"
        [ "$SECONDS" -lt "$deadline" ] || fail_with_log "$name does not answer after $START_SECONDS seconds" "$log"
        sleep 0.05
    done
    LAUNCHED=''
}

# The number in a pid file, if the process it names was started with this instance's path: numbers
# are used again.
verified_pid() {
    local file=$1 argument=$2 pid
    [ -r "$file" ] || return 0
    read -r pid <"$file" || [ -n "$pid" ] || return 0
    if tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qxF -- "$argument"; then
        echo "$pid"
    fi
}

# After kill -9 a server's children end by themselves a moment later; until then they use its data. Both
# servers work in their data folder, so this also finds a server whose pid file was lost.
wait_until_nobody_uses() {
    local folder=$1 deadline=$((SECONDS + LEFT_OVER_SECONDS))
    while processes_in "$folder"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "a process that this did not start uses $folder: end it first."
        sleep 0.1
    done
}

processes_in() {
    local link
    for link in /proc/[0-9]*/cwd; do
        if [ "$(readlink "$link" 2>/dev/null)" = "$1" ]; then
            return 0
        fi
    done
    return 1
}

stop() {
    local name=$1 pid=$2 signal=$3 deadline=$((SECONDS + STOP_SECONDS))
    [ -n "$pid" ] || return 0
    kill -s "$signal" "$pid" || fail "$name (pid $pid) belongs to another account: run this as that account."
    while [ -e "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null; do
        [ "$SECONDS" -lt "$deadline" ] || fail "$name (pid $pid) does not end; see $INSTANCE/log."
        sleep 0.05
    done
    say "$name stopped"
}

# Below the range from which the kernel takes the ports of outgoing connections.
keep_or_choose_port() {
    local port=$1
    while [ -z "$port" ] || port_is_taken "$port"; do
        port=$((20000 + SRANDOM % 12000))
    done
    echo "$port"
}

port_is_taken() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

new_password() {
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}

say() {
    echo "services: $*"
}

fail_with_log() {
    tail -n 20 "$INSTANCE/log/$2.log" >&2 || true
    fail "$1; the whole log is $INSTANCE/log/$2.log"
}

fail() {
    echo "services: $*" >&2
    exit 1
}

main "$@"
