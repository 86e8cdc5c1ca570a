#!/usr/bin/env bash
# Ask the product how risky real changes are, and look which of them were followed by a fix
# (tests/bench/review_risk.py), on Postgres and Redis of its own.
#
#   deploy/bench_risk.sh [REPOSITORY ...] [--cuts N] [--units N]     the plot: .local/bench-risk/calibration.svg
#
# A REPOSITORY is a bare clone. Default: five repositories in four languages on which nothing was tuned, then
# the two on which the weights were fitted; cloned when missing. About ten minutes on two quiet cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-risk
measure() {
    .local/venv/bin/python -m tests.bench.review_risk "$@" \
        --rows "$instance/rows.jsonl" --plot "$instance/calibration.svg"
}
sample() {
    local bare=$instance/${1#*/}.git
    [ -d "$bare" ] || git clone --bare --quiet "https://github.com/$1.git" "$bare"
    echo "$bare"
}
if [ $# -eq 0 ]; then
    measure "$(sample encode/httpx)" "$(sample pallets/click)" "$(sample expressjs/express)" \
        "$(sample BurntSushi/ripgrep)" "$(sample google/gson)" \
        "$(sample pallets/flask)" "$(sample gin-gonic/gin)"
else
    measure "$@"
fi
