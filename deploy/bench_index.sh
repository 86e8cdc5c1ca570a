#!/usr/bin/env bash
# Measure what indexing a whole repository from nothing costs, on Postgres and Redis of its own.
#
#   deploy/bench_index.sh [PATH [--other COMMAND] ...]     default: django/django 5.2.8, cloned when missing
#
# A COMMAND is another tool that is run in a copy of the same files: --other "codegraph init ." ({} in it
# stands for the copy's path).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
instance=$PWD/.local/bench-index
sample=$instance/django

deploy/server.sh setup >&2
unset DATABASE_URL REDIS_URL DATABASE_ADMIN_URL
deploy/services.sh down "$instance" >&2
rm -rf "$instance/pg" "$instance/redis" "$instance/data"
deploy/services.sh up "$instance" >&2
trap 'deploy/services.sh down "$instance" >&2' EXIT
if [ $# -eq 0 ]; then
    [ -d "$sample" ] ||
        git clone --quiet --depth 1 --branch 5.2.8 https://github.com/django/django.git "$sample"
    set -- "$sample"
fi
set -a
# shellcheck disable=SC1091
. "$instance/env"
set +a
export CODEMEM_SECRET_KEY=bench CODEMEM_DATA_DIRECTORY=$instance/data CODEMEM_LOG_LEVEL=ERROR
export CODEMEM_LOCAL_REPOSITORY_ROOTS=/
export PYTHONPYCACHEPREFIX=$PWD/.local/cache/pycache
.local/venv/bin/python manage.py migrate --verbosity 0
.local/venv/bin/python -m tests.bench.full_index "$@"
