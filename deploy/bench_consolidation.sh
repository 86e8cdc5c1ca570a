#!/usr/bin/env bash
# Run each consolidation cycle on 10,000 memories and undo it (tests/bench/consolidation.py), on
# Postgres and Redis of its own.
#
#   deploy/bench_consolidation.sh [MIRROR ...]
#
# A MIRROR is a bare Git repository whose commit messages become memories; default: pallets/flask
# and django/djangoproject.com with celery/celery, cloned when missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-consolidation
if [ $# -eq 0 ]; then
    for name in pallets/flask celery/celery django/djangoproject.com; do
        mirror=$instance/${name//\//+}.git
        [ -d "$mirror" ] || git clone --bare --quiet "https://github.com/$name.git" "$mirror"
        set -- "$@" "$mirror"
    done
fi
nice -n 10 .local/venv/bin/python -m tests.bench.consolidation "$@"
