#!/usr/bin/env bash
# Measure recall over many memories in fifty namespaces (tests/bench/recall_scale.py), on Postgres of its own.
#
#   deploy/bench_scale.sh [--memories N]      default: 100,000; a million takes about 8 GB of disk
#
# CODEMEM_BENCH_KEEP=1 keeps what was loaded, and asks what an earlier run kept: loading a million takes longer
# than asking. Postgres gets an eighth of the memory for its pages (a server of its own should give it a quarter)
# and room to build indexes in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${CODEMEM_PG_SHARED_BUFFERS:=$(($(getconf _PHYS_PAGES) * $(getconf PAGE_SIZE) / 8 / 1024 / 1024))MB}"
: "${CODEMEM_PG_MAINTENANCE_WORK_MEM:=512MB}"
export CODEMEM_PG_SHARED_BUFFERS CODEMEM_PG_MAINTENANCE_WORK_MEM
keep_instance=${CODEMEM_BENCH_KEEP:+yes}
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-scale
.local/venv/bin/python -m tests.bench.recall_scale "$@"
