#!/usr/bin/env bash
# Hide each file of real commits in turn and ask the product which one is missing
# (tests/bench/review_missing.py), on Postgres and Redis of its own.
#
#   deploy/bench_review.sh [REPOSITORY ...] [--commits N]
#
# A REPOSITORY is a bare clone. Default: six repositories in five languages on which nothing was tuned, then the
# two on which the weights were fitted; cloned when missing. About an hour on two cores, most of it history.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-review
measure() { .local/venv/bin/python -m tests.bench.review_missing "$@"; }
sample() {
    local bare=$instance/${1#*/}.git
    [ -d "$bare" ] || git clone --bare --quiet "https://github.com/$1.git" "$bare"
    echo "$bare"
}
if [ $# -eq 0 ]; then
    measure "$(sample encode/httpx)" "$(sample fastapi/fastapi)" "$(sample expressjs/express)" \
        "$(sample vuejs/core)" "$(sample BurntSushi/ripgrep)" "$(sample fmtlib/fmt)" \
        "$(sample pallets/flask)" "$(sample gin-gonic/gin)"
else
    measure "$@"
fi
