#!/usr/bin/env bash
# Measure and prove history (tests/bench/history.py) on Postgres and Redis of its own.
#
#   deploy/bench_history.sh [PATH [--branch NAME] ...]     default: pallets/flask, cloned when missing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
instance=$PWD/.local/bench-history
sample=$PWD/.local/bench-history/flask.git

deploy/server.sh setup >&2
unset DATABASE_URL REDIS_URL DATABASE_ADMIN_URL
deploy/services.sh down "$instance" >&2
rm -rf "$instance/pg" "$instance/redis" "$instance/data"
CODEMEM_PG_FSYNC=off deploy/services.sh up "$instance" >&2
trap 'deploy/services.sh down "$instance" >&2' EXIT
if [ $# -eq 0 ]; then
    [ -d "$sample" ] || git clone --bare --quiet https://github.com/pallets/flask.git "$sample"
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
.local/venv/bin/python -m tests.bench.history "$@"
