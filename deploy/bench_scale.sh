#!/usr/bin/env bash
# Measure recall over many memories in fifty namespaces (tests/bench/recall_scale.py), on Postgres of its own.
#
#   deploy/bench_scale.sh [--memories N]      default: 100,000; a million takes about 8 GB of disk
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-scale
.local/venv/bin/python -m tests.bench.recall_scale "$@"
