#!/usr/bin/env bash
# Ask the product where real commits' changes would go (tests/bench/code_memory.py), on Postgres and Redis
# of its own.
#
#   deploy/bench_code_memory.sh [REPOSITORY ...] [--freezes N] [--questions N]
#
# A REPOSITORY is a bare clone; default: encode/httpx, pallets/flask and psf/requests, cloned when missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-code-memory
if [ $# -eq 0 ]; then
    for name in encode/httpx pallets/flask psf/requests; do
        sample=$instance/${name#*/}.git
        [ -d "$sample" ] || git clone --bare --quiet "https://github.com/$name.git" "$sample"
        set -- "$@" "$sample"
    done
fi
.local/venv/bin/python -m tests.bench.code_memory "$@"
