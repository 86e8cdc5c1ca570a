#!/usr/bin/env bash
# Play the sessions of tests/bench/replay_scenarios.py through the hooks, on Postgres and Redis of
# its own, and print what comes back when it is needed.
#
#   deploy/bench_replay.sh [--show]      also what was missed, and what was told for nothing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-replay
nice -n 10 .local/venv/bin/python -m tests.bench.replay_sessions "$@"
