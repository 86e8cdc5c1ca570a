#!/usr/bin/env bash
# Measure pushes, and prove branches, on Postgres and Redis of their own.
#
#   deploy/bench_pushes.sh [SIZE ...] [--follow]     from webhook to answer (tests/bench/pushes.py)
#   deploy/bench_pushes.sh --branches [PATH]         branches against fresh indexes (tests/bench/branches.py)
#
# Repositories of SIZE files (500, 2000 and 8000) are made of the locked Django's sources. PATH is a
# Git repository; default: pallets/flask, cloned when missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
instance=$PWD/.local/bench-pushes
sample=$PWD/.local/bench-pushes/flask.git

deploy/server.sh setup >&2
unset DATABASE_URL REDIS_URL DATABASE_ADMIN_URL
deploy/services.sh down "$instance" >&2
rm -rf "$instance/pg" "$instance/redis" "$instance/data"
deploy/services.sh up "$instance" >&2
trap 'deploy/services.sh down "$instance" >&2' EXIT
set -a
# shellcheck disable=SC1091
. "$instance/env"
set +a
export CODEMEM_SECRET_KEY=bench CODEMEM_DATA_DIRECTORY=$instance/data CODEMEM_LOG_LEVEL=ERROR
export CODEMEM_LOCAL_REPOSITORY_ROOTS=/ CODEMEM_TEST_INSTANCE=$instance
export PYTHONPYCACHEPREFIX=$PWD/.local/cache/pycache
python=.local/venv/bin/python
"$python" manage.py migrate --verbosity 0
if [ "${1:-}" = --branches ]; then
    repository=${2:-$sample}
    [ -d "$repository" ] || git clone --bare --quiet https://github.com/pallets/flask.git "$repository"
    "$python" -m tests.bench.branches "$repository"
else
    django=$("$python" -c 'import django, pathlib; print(pathlib.Path(django.__file__).parent)')
    "$python" -m tests.bench.pushes "$django" "$@"
fi
