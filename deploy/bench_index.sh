#!/usr/bin/env bash
# Measure what indexing a whole repository from nothing costs, on Postgres and Redis of its own.
#
#   deploy/bench_index.sh [PATH [--other COMMAND] ...]     default: django/django 5.2.8, cloned when missing
#
# A COMMAND is another tool that is run in a copy of the same files: --other "codegraph init ." ({} in it
# stands for the copy's path).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-index
if [ $# -eq 0 ]; then
    sample=$instance/django
    [ -d "$sample" ] ||
        git clone --quiet --depth 1 --branch 5.2.8 https://github.com/django/django.git "$sample"
    set -- "$sample"
fi
.local/venv/bin/python -m tests.bench.full_index "$@"
