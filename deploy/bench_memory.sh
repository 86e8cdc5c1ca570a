#!/usr/bin/env bash
# Measure what recall finds of LoCoMo's evidence (tests/bench/locomo.py), on Postgres of its own.
#
#   deploy/bench_memory.sh [--held-out|--only-held-out] [--unit turns|chunks] [--no-rivals]
#
# LOCOMO names locomo10.json; without it ../shared/data is looked at, and when nothing is there a sentence
# says so. Vectors are kept in .local/cache/locomo between runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-memory
.local/venv/bin/python -m tests.bench.locomo --cache "$PWD/.local/cache/locomo" "$@"
