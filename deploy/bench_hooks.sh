#!/usr/bin/env bash
# How long hooks hold up fifty agents (tests/bench/hooks.py), on Postgres and Redis of its own:
# over HTTP alone, then through the script that clients run, then with the server stopped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-hooks
shim=codemem/client/install/codemem-hook
.local/venv/bin/python -m tests.bench.hooks "$@"
.local/venv/bin/python -m tests.bench.hooks --shim "$shim" "$@"
.local/venv/bin/python -m tests.bench.hooks --shim "$shim" --stopped "$@"
