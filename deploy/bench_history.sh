#!/usr/bin/env bash
# Measure and prove history (tests/bench/history.py) on Postgres and Redis of its own.
#
#   deploy/bench_history.sh [PATH [--branch NAME] ...]     default: pallets/flask, cloned when missing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-history
if [ $# -eq 0 ]; then
    sample=$instance/flask.git
    [ -d "$sample" ] || git clone --bare --quiet https://github.com/pallets/flask.git "$sample"
    set -- "$sample"
fi
.local/venv/bin/python -m tests.bench.history "$@"
