#!/usr/bin/env bash
# Ask the product where real commits' changes would go (tests/bench/code_memory.py), on Postgres and Redis
# of its own.
#
#   deploy/bench_code_memory.sh [REPOSITORY ...] [--language python] [--freezes N] [--questions N] [--apart]
#
# A REPOSITORY is a bare clone. Default: psf/requests, pallets/werkzeug and gin-gonic/gin, on which no weight
# was set or compared; cloned when missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-code-memory
measure() { .local/venv/bin/python -m tests.bench.code_memory "$@"; }
sample() {
    local bare=$instance/${1#*/}.git
    [ -d "$bare" ] || git clone --bare --quiet "https://github.com/$1.git" "$bare"
    echo "$bare"
}
if [ $# -eq 0 ]; then
    measure "$(sample psf/requests)" "$(sample pallets/werkzeug)"
    measure "$(sample gin-gonic/gin)" --language go
else
    measure "$@"
fi
