#!/usr/bin/env bash
# Measure how right the calls of the graph are: precision and recall against compilers' indexes, without and
# with them, and on cases made by hand. Indexes are made once per commit and kept in .local/bench/graph.
#
#   deploy/bench_graph.sh [--only NAME] [--examples N]
#
# Environment:
#   MIRRORS    a folder of bare repositories (OWNER+NAME/repo, OWNER+NAME or NAME); default:
#              .local/bench/mirrors, where repositories that are not there are cloned to from GitHub
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mirrors=${MIRRORS:-$PWD/.local/bench/mirrors}
mkdir -p "$mirrors" .local/bench/graph

[ -x .local/venv/bin/python ] || deploy/server.sh setup >&2
[ -n "$(ls .local/indexers/bin 2> /dev/null)" ] || deploy/indexers.sh >&2
if [ -z "${MIRRORS:-}" ]; then
    while read -r name; do
        [ -e "$mirrors/${name/\//+}/HEAD" ] ||
            git clone --quiet --bare "https://github.com/$name" "$mirrors/${name/\//+}" || true
    done < <(sed -n 's/^    Measured("\([^"]*\)".*/\1/p' tests/bench/accuracy/repositories.py)
fi
export CODEMEM_SECRET_KEY=bench DATABASE_URL=postgresql://unused@127.0.0.1/unused REDIS_URL=redis://127.0.0.1/0
export DJANGO_SETTINGS_MODULE=codemem.settings PYTHONPYCACHEPREFIX=$PWD/.local/cache/pycache
exec .local/venv/bin/python -c 'import django; django.setup(); from tests.bench.accuracy.__main__ import main; main()' \
    --mirrors "$mirrors" --cache "$PWD/.local/bench/graph" --tools "$PWD/.local/indexers/bin" "$@"
