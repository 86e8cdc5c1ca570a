#!/usr/bin/env bash
# Carry 10,000 memories out, away, in and out again (tests/bench/portability.py), on Postgres and
# Redis of its own. CODEMEM_BENCH_MEMORIES says how many.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-portability
.local/venv/bin/python -m tests.bench.portability
