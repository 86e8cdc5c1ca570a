#!/usr/bin/env bash
# Measure how soon pages of the console are there (tests/bench/console_timings.py), on Postgres and Redis
# of its own.
#
#   deploy/bench_console.sh [--visits N]      wants Debian's chromium, or CHROMIUM
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-console
.local/venv/bin/python -m tests.bench.console_timings "$@"
