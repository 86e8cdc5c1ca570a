#!/usr/bin/env bash
# Run the tests on Postgres and Redis of their own (.local/test), so that a running server is not disturbed.
#
#   deploy/test.sh                      all: first side by side; then with a browser; then the flows, which stop and
#                                       restart the servers
#   deploy/test.sh PYTEST ARGUMENTS     only these, in one process: deploy/test.sh tests/memory -k recall
#
# Services that this script started are stopped at the end, whatever the outcome.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
instance=$PWD/.local/test

# tests/browser walks the console with Debian's Chromium, or the one that CHROMIUM names.
ensure_chromium() {
    local name
    [ -z "${CHROMIUM:-}" ] || return 0
    for name in chromium chromium-browser google-chrome chrome; do
        ! command -v "$name" > /dev/null || return 0
    done
    if [ "$(id --user)" -eq 0 ] && command -v apt-get > /dev/null; then
        echo "Installing Chromium for tests/browser ..." >&2
        apt-get update --quiet=2
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends --quiet=2 chromium > /dev/null
        return
    fi
    echo "test.sh: tests/browser needs Chromium: apt-get install chromium, or CHROMIUM=/path/to/one." >&2
    exit 1
}

deploy/server.sh setup
ensure_chromium
# The chart is rendered by the real helm: built once, while the other tests run.
deploy/helm.sh version --short > .local/test-helm.log 2>&1 &
helm=$!

# The tests stop and restart these servers: never ones that somebody else's DATABASE_URL names.
unset DATABASE_URL REDIS_URL DATABASE_ADMIN_URL
CODEMEM_PG_FSYNC=off deploy/services.sh up "$instance"
finish() {
    kill "$helm" 2> /dev/null || true
    deploy/services.sh down "$instance"
}
trap finish EXIT
set -a
# shellcheck disable=SC1091
. "$instance/env"
set +a
export CODEMEM_SECRET_KEY="test"
export CODEMEM_TEST_INSTANCE=$instance
export CODEMEM_DATA_DIRECTORY=$instance/data
export CODEMEM_LOG_LEVEL=WARNING
# Tests that are about indexers turn them on, and bring their own.
export CODEMEM_SCIP=off
export PYTHONPYCACHEPREFIX=$PWD/.local/cache/pycache
if [ $# -gt 0 ]; then
    .local/venv/bin/python -m pytest "$@"
else
    side_by_side=(-p tests.redis_apart --numprocesses "$(nproc)" --dist loadfile --quiet)
    .local/venv/bin/python -m pytest --ignore tests/flows --ignore tests/browser "${side_by_side[@]}"
    # Apart: Playwright leaves a loop in its process, in which Django asks the database nothing.
    .local/venv/bin/python -m pytest tests/browser "${side_by_side[@]}"
    .local/venv/bin/python -m pytest tests/flows
fi
