#!/usr/bin/env bash
# Measure how smooth the graph explorer is (tests/bench/explorer_frames.py), on Postgres and Redis of its own.
#
#   deploy/bench_explorer.sh [--keep] [--symbols N] [--edges N] [--seconds N]      wants Debian's chromium, or CHROMIUM
#
# --keep measures on the graph that an earlier run made. On a busy machine root gets figures of a quiet one with
# `chrt --rr 1 deploy/bench_explorer.sh`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
keep_instance=no
if [ "${1:-}" = --keep ]; then
    shift
    keep_instance=yes
fi
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-explorer
.local/venv/bin/python -m tests.bench.explorer_frames "$@"
