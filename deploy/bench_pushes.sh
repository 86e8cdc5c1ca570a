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
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-pushes
python=.local/venv/bin/python
sample=$instance/flask.git
if [ "${1:-}" = --branches ]; then
    repository=${2:-$sample}
    [ -d "$repository" ] || git clone --bare --quiet https://github.com/pallets/flask.git "$repository"
    "$python" -m tests.bench.branches "$repository"
else
    django=$("$python" -c 'import django, pathlib; print(pathlib.Path(django.__file__).parent)')
    "$python" -m tests.bench.pushes "$django" "$@"
fi
