#!/usr/bin/env bash
# Measure how long an agent waits for an answer about code (tests/bench/http_latency.py) on Postgres and
# Redis of its own.
#
#   deploy/bench_http.sh [PATH [--questions N] ...]     default: django/django at 5.2.8, cloned when missing
#
# On a busy machine root gets figures of a quiet one with `chrt --rr 1 deploy/bench_http.sh`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
instance=$PWD/.local/bench-http
sample=$PWD/.local/bench-http/django

deploy/server.sh setup >&2
unset DATABASE_URL REDIS_URL DATABASE_ADMIN_URL
deploy/services.sh down "$instance" >&2
rm -rf "$instance/pg" "$instance/redis" "$instance/data"
CODEMEM_PG_FSYNC=off deploy/services.sh up "$instance" >&2
trap 'deploy/services.sh down "$instance" >&2' EXIT
if [ $# -eq 0 ]; then
    if [ ! -d "$sample" ]; then
        git clone --quiet --depth 1 --branch 5.2.8 https://github.com/django/django.git "$sample"
        # A branch to index: a tag leaves none.
        git -C "$sample" switch --quiet --create main
    fi
    set -- "$sample"
fi
set -a
# shellcheck disable=SC1091
. "$instance/env"
set +a
export CODEMEM_SECRET_KEY=bench CODEMEM_DATA_DIRECTORY=$instance/data CODEMEM_LOG_LEVEL=ERROR
export CODEMEM_LOCAL_REPOSITORY_ROOTS=/
export PYTHONPYCACHEPREFIX=$PWD/.local/cache/pycache
path=$1
shift
.local/venv/bin/python manage.py migrate --verbosity 0
.local/venv/bin/python -m tests.bench.http_latency bench sample --index "$path" "$@"
