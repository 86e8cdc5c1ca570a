#!/usr/bin/env bash
# Hide each file of real commits in turn and ask the product which one is missing
# (tests/bench/review_missing.py), on Postgres and Redis of its own.
#
#   deploy/bench_review.sh [--fresh] [REPOSITORY ...] [--commits N]
#
# A REPOSITORY is a bare clone. Default: seven repositories in six languages on which nothing was tuned, then the
# two on which the weights were fitted; cloned when missing, two at a time. The first run takes about an hour on
# two cores, most of it history. What it indexed is kept for the next one, and so are the figures as long as the
# code that makes suggestions is the same; --fresh begins anew. Figures and the picture of the calibration:
# .local/bench-review/out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
keep_instance=yes
if [ "${1:-}" = --fresh ]; then
    keep_instance=no
    shift
fi
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-review
out=$instance/out
[ "$keep_instance" = yes ] || rm -rf "$out"
measure() { .local/venv/bin/python -m tests.bench.review_missing --out "$out" "$@"; }
sample() {
    local bare=$instance/${1#*/}.git
    [ -d "$bare" ] || git clone --bare --quiet "https://github.com/$1.git" "$bare"
    echo "$bare"
}
if [ $# -eq 0 ]; then
    samples=()
    for name in vuejs/core encode/httpx fastapi/fastapi expressjs/express fmtlib/fmt BurntSushi/ripgrep \
        apache/commons-cli pallets/flask gin-gonic/gin; do
        samples+=("$(sample $name)")
    done
    # Each keeps its figures; the last call only adds them up.
    printf '%s\0' "${samples[@]}" |
        xargs -0 -P 2 -n 1 .local/venv/bin/python -m tests.bench.review_missing --out "$out" >/dev/null
    measure "${samples[@]}"
else
    measure "$@"
fi
