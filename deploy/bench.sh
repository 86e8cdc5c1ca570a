#!/usr/bin/env bash
# Measure on Postgres and Redis of their own (.local/bench), with a large synthetic team in them.
#
#   deploy/bench.sh [--fresh] [--only graph|recall|tools] [--symbols N] [--edges N] [--memories N]
#
# The data is made in the first run (about two minutes) and kept; --fresh makes it anew. Figures go to
# standard output and to .local/bench/results.json; nothing is asserted. On a busy machine root gets
# figures of a quiet one with `chrt --rr 1 deploy/bench.sh`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
instance=$PWD/.local/bench

# What the tables look like: data of an older shape is of no use.
shape() { cat codemem/accounts/migrations/*.py {graph,memory,indexing}/migrations/*.py graph/sql/schema.sql | sha256sum; }

start_afresh() {
    deploy/services.sh down "$instance" >&2
    rm -rf "$instance/pg" "$instance/redis"
}

deploy/server.sh setup >&2
# The figures are about these servers, not about what somebody's DATABASE_URL names.
unset DATABASE_URL REDIS_URL DATABASE_ADMIN_URL
if [ "${1:-}" = --fresh ]; then
    shift
    start_afresh
elif [ "$(shape)" != "$(cat "$instance/shape" 2> /dev/null)" ]; then
    start_afresh
fi
deploy/services.sh up "$instance" >&2
trap 'deploy/services.sh down "$instance" >&2' EXIT
set -a
# shellcheck disable=SC1091
. "$instance/env"
set +a
export CODEMEM_SECRET_KEY=bench
export CODEMEM_DATA_DIRECTORY=$instance/data
export CODEMEM_LOG_LEVEL=WARNING
# As the server runs: each process writes its metrics to files.
export PROMETHEUS_MULTIPROC_DIR=$instance/metrics
export PYTHONPYCACHEPREFIX=$PWD/.local/cache/pycache
rm -rf "$PROMETHEUS_MULTIPROC_DIR"
mkdir -p "$PROMETHEUS_MULTIPROC_DIR"
.local/venv/bin/python manage.py migrate --verbosity 0
shape > "$instance/shape"
.local/venv/bin/python -m tests.bench --directory "$instance" "$@"
