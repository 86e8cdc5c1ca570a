#!/usr/bin/env bash
# The whole server on one machine, out of one git-ignored folder of the checkout:
#
#   deploy/server.sh setup              the Python environment, the embedding model, the browser's scripts, machine code
#   deploy/server.sh up                 setup, Postgres, Redis, web, workers, beat; a team; this checkout indexed; a tour
#   deploy/server.sh down               stop what `up` started, and nothing else
#   deploy/server.sh status|env|logs    how it is; what scripts need; follow the logs
#
# Everything is idempotent. The instance lives in .local/server (CODEMEM_INSTANCE names another folder).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
private=$root/.local
instance=${CODEMEM_INSTANCE:-$private/server}
venv=$private/venv
python=$venv/bin/python
run=$instance/run
log=$instance/log
# Nothing outside .local is written, not even pip's cache.
export PIP_CACHE_DIR=$private/cache/pip PYTHONPYCACHEPREFIX=$private/cache/pycache

say() { printf '%s\n' "$*" >&2; }
die() { say "codemem: $*"; exit 1; }

# --- Setup ----------------------------------------------------------------------------------------
ensure_python() {
    local wanted
    wanted=$(cat "$root/requirements.lock" "$root/pyproject.toml" | sha256sum | cut -c1-32)$root
    [ "$(cat "$venv/.complete" 2>/dev/null)" = "$wanted" ] && return
    command -v python3 >/dev/null || die "python3 is missing: install Python 3.11 or newer."
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
        || die "python3 is $(python3 -V | cut -d' ' -f2), codemem needs 3.11 or newer."
    python3 -c 'import ensurepip, venv' 2>/dev/null \
        || die "python3 cannot make environments: install the package python3-venv."
    command -v git >/dev/null || die "git is missing: install it."
    say "Installing the locked Python packages (about a minute) ..."
    [ -x "$python" ] || python3 -m venv --clear "$venv"
    "$python" -m pip install --quiet --disable-pip-version-check --no-input \
        --require-hashes --no-deps --requirement "$root/requirements.lock"
    "$python" -m pip install --quiet --disable-pip-version-check --no-input \
        --no-deps --no-build-isolation --editable "$root"
    printf '%s' "$wanted" > "$venv/.complete"
}

ensure_model() {
    (cd "$root" && "$python" -m codemem.embedding.prepare --directory "$private/models")
}

# What the console's pages load in a browser: from npm, by hash. Pages are readable without it, so
# that a machine that is cut off from registries still has a server.
ensure_browser_scripts() {
    (cd "$root" && "$python" -m codemem.console.assets --directory "$private/vendor") \
        || say "codemem: the console's pages do not move: their scripts could not be fetched; see above."
}

# Static files come out of the locked packages and out of the console: collected once for each state of
# them. No server is asked, but settings want addresses.
collect_static() {
    local wanted
    wanted=$(cat "$venv/.complete" "$private/vendor/.complete" 2> /dev/null
        find "$root/codemem/console/static" -type f -print0 | sort --zero-terminated | xargs -0 sha256sum)
    [ "$(cat "$private/static/.complete" 2> /dev/null)" = "$wanted" ] && return
    CODEMEM_SECRET_KEY=unused DATABASE_URL=postgresql://unused/unused REDIS_URL=redis://unused \
        CODEMEM_STATIC_DIRECTORY=$private/static manage collectstatic --noinput --verbosity 0
    printf '%s' "$wanted" > "$private/static/.complete"
}

# What resolves names, as machine code: half a minute's work for each new state of its sources. Without
# a C compiler it runs as Python, more slowly.
make_native() {
    (cd "$root" && "$python" -m indexing.native >&2) || say "codemem: indexing runs as Python; see above."
}

manage() { (cd "$root" && CODEMEM_LOG_LEVEL=WARNING "$python" manage.py "$@"); }

setup() {
    mkdir -p "$private"
    # Two commands at once (make up in one window, make test in another) must not both install.
    exec 9> "$private/setup.lock"
    flock 9
    ensure_python
    ensure_model
    ensure_browser_scripts
    collect_static
    make_native
    exec 9>&-
}

# --- Settings of the instance ---------------------------------------------------------------------
free_port() {
    "$python" - "$1" <<'PYTHON'
import socket, sys
for port in (int(sys.argv[1]), 0):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(probe.getsockname()[1])
        break
PYTHON
}

# Ports and secrets are chosen once and kept: the MCP configuration of yesterday works today.
ensure_settings() {
    [ -s "$instance/settings" ] && return
    local port
    port=$(free_port "${CODEMEM_PORT:-8787}")
    (
        umask 077
        {
            printf 'CODEMEM_PORT=%s\n' "$port"
            printf 'CODEMEM_PUBLIC_URL=http://127.0.0.1:%s\n' "$port"
            printf 'CODEMEM_SECRET_KEY=%s\n' "$("$python" -c 'import secrets; print(secrets.token_urlsafe(50))')"
        } > "$instance/settings.new"
    )
    mv "$instance/settings.new" "$instance/settings"
}

load_settings() {
    [ -s "$instance/env" ] && [ -s "$instance/settings" ] || die "the server was never started: run make up."
    set -a
    # shellcheck disable=SC1091
    . "$instance/env"
    # shellcheck disable=SC1091
    . "$instance/settings"
    set +a
    export CODEMEM_DATA_DIRECTORY=$instance/data
    export CODEMEM_STATIC_DIRECTORY=$private/static
    export CODEMEM_LOCAL_REPOSITORY_ROOTS=${CODEMEM_LOCAL_REPOSITORY_ROOTS:+$CODEMEM_LOCAL_REPOSITORY_ROOTS,}$root
    export CODEMEM_LOG_LEVEL=${CODEMEM_LOG_LEVEL:-INFO}
    export PROMETHEUS_MULTIPROC_DIR=$run/metrics
    export PYTHONUNBUFFERED=1
}

# --- Processes ------------------------------------------------------------------------------------
# A pid file is believed only while the process it names runs this program for this instance.
is_running() {
    local pid environment
    pid=$(cat "$run/$1.pid" 2>/dev/null) || return 1
    # The process may end while we look.
    environment=$({ tr '\0' '\n' < "/proc/$pid/environ"; } 2>/dev/null) || return 1
    grep -qxF "CODEMEM_PROCESS_NAME=codemem-$1" <<< "$environment" \
        && grep -qxF "CODEMEM_DATA_DIRECTORY=$instance/data" <<< "$environment"
}

start() {
    local name=$1
    shift
    is_running "$name" && return
    say "Starting $name ..."
    (
        cd "$root"
        # Its own session and no inherited pipes: `make up | tail` must end when `make up` does.
        CODEMEM_PROCESS_NAME=codemem-$name setsid "$@" < /dev/null >> "$log/$name.log" 2>&1 9>&- &
        printf '%s' $! > "$run/$name.pid"
    )
}

stop() {
    local name=$1 pid
    if is_running "$name"; then
        pid=$(cat "$run/$name.pid")
        kill -TERM "$pid" 2>/dev/null || true
        for _ in $(seq 150); do
            is_running "$name" || break
            sleep 0.1
        done
        if is_running "$name"; then
            say "$name did not stop in 15 s: killing it."
            kill -KILL -- "-$pid" 2>/dev/null || true
        fi
        say "Stopped $name."
    fi
    rm -f "$run/$name.pid"
}

start_processes() {
    # Left-over metrics of processes that are gone would be added up for ever.
    is_running web || is_running worker || rm -rf "$run/metrics"
    mkdir -p "$run/metrics"
    start web "$venv/bin/gunicorn" codemem.wsgi -c deploy/gunicorn.conf.py --bind "127.0.0.1:$CODEMEM_PORT"
    # A task that is cut off is queued again and safe to run twice, so stopping need not wait for it.
    REMAP_SIGTERM=SIGQUIT start worker "$venv/bin/celery" -A workers.app worker --queues index,embed,maintenance \
        --concurrency "${CODEMEM_WORKER_CONCURRENCY:-2}" --loglevel WARNING --without-gossip --without-mingle
    # What takes minutes has a process of its own, so that a push is never behind it.
    REMAP_SIGTERM=SIGQUIT start analyst "$venv/bin/celery" -A workers.app worker --queues analysis,history,scip \
        --hostname analyst@%h --concurrency 1 --loglevel WARNING --without-gossip --without-mingle
    start beat "$venv/bin/celery" -A workers.app beat --loglevel WARNING --pidfile=
    wait_for_web
}

is_ready() {
    "$python" -c "import urllib.request as u; u.urlopen('$CODEMEM_PUBLIC_URL/readyz', timeout=2)" 2>/dev/null
}

wait_for_web() {
    for _ in $(seq 300); do
        is_running web || die "the web server stopped; its last words are in $log/web.log:
$(tail -n 5 "$log/web.log")"
        is_ready && return
        sleep 0.2
    done
    die "the web server does not answer at $CODEMEM_PUBLIC_URL; see $log/web.log."
}

stop_processes() {
    stop beat
    stop worker
    stop analyst
    stop web
}

# --- Commands -------------------------------------------------------------------------------------
up() {
    setup
    mkdir -p "$run" "$log" "$instance/data"
    "$root/deploy/services.sh" up "$instance"
    ensure_settings
    load_settings
    are_all_running || start_server
    manage found_team --checkout "$root" --credentials "$instance/credentials" --wait
    tour
}

# What runs already, of this very commit, has migrated and is ready: a second `make up` starts nothing.
are_all_running() {
    [ "$(cat "$run/revision" 2>/dev/null)" = "$(revision)" ] \
        && is_running web && is_running worker && is_running analyst && is_running beat && is_ready
}

revision() { git -C "$root" rev-parse HEAD; }

start_server() {
    # After a pull the old code must not go on serving.
    stop_processes
    # Checks the database first: what it lacks comes as a sentence with a hint.
    manage migrate --verbosity 0
    start_processes
    revision > "$run/revision"
}

tour() {
    (cd "$root" && bash deploy/tour.sh "$instance/credentials")
}

down() {
    stop_processes
    "$root/deploy/services.sh" down "$instance"
}

status() {
    local name
    for name in web worker analyst beat; do
        if is_running "$name"; then say "$name runs (pid $(cat "$run/$name.pid"))"; else say "$name is stopped"; fi
    done
    "$root/deploy/services.sh" status "$instance" || true
    (cd "$root" && "$python" -m indexing.native --status >&2) || true
}

print_env() {
    load_settings
    [ -s "$instance/credentials" ] || die "there is no token yet: run make up."
    # shellcheck disable=SC1091
    . "$instance/credentials"
    printf 'export CODEMEM_URL=%q\n' "$CODEMEM_PUBLIC_URL"
    printf 'export CODEMEM_TOKEN=%q\n' "$CODEMEM_DEVELOPER_TOKEN"
    printf "export PATH=%q:\"\$PATH\"\n" "$venv/bin"
}

case ${1:-} in
    setup) setup ;;
    up) up ;;
    down) down ;;
    status) status ;;
    env) print_env ;;
    logs) exec tail -n 50 -F "$log"/*.log ;;
    *) die "usage: server.sh setup|up|down|status|env|logs" ;;
esac
