# shellcheck shell=bash
# Sourced by benches: Postgres and Redis of their own, empty, until the script ends.
#
#   . deploy/bench_instance.sh NAME      sets and exports what the application needs; $instance is the folder
#
# With keep_instance=yes what an earlier run left there stays.
#
# The figures are about these servers, not about what somebody's DATABASE_URL names.
instance=$PWD/.local/$1

deploy/server.sh setup >&2
unset DATABASE_URL REDIS_URL DATABASE_ADMIN_URL
deploy/services.sh down "$instance" >&2
[ "${keep_instance:-no}" = yes ] || rm -rf "$instance/pg" "$instance/redis" "$instance/data"
deploy/services.sh up "$instance" >&2
trap 'deploy/services.sh down "$instance" >&2' EXIT
set -a
# shellcheck disable=SC1091
. "$instance/env"
set +a
export CODEMEM_SECRET_KEY=bench CODEMEM_DATA_DIRECTORY=$instance/data CODEMEM_LOG_LEVEL=ERROR
export CODEMEM_LOCAL_REPOSITORY_ROOTS=/ CODEMEM_TEST_INSTANCE=$instance
export PYTHONPYCACHEPREFIX=$PWD/.local/cache/pycache
.local/venv/bin/python manage.py migrate --verbosity 0
