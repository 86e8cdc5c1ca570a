#!/usr/bin/env bash
# Measure how long a review of a 500-line diff takes over HTTP (tests/bench/review_latency.py), on Postgres
# and Redis of its own.
#
#   deploy/bench_review_latency.sh [PATH [--reviews N]]     default: django/django at 5.2.8, cloned when missing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-review-latency
if [ $# -eq 0 ]; then
    sample=$instance/django
    if [ ! -d "$sample" ]; then
        git clone --quiet --depth 1 --branch 5.2.8 https://github.com/django/django.git "$sample"
        git -C "$sample" switch --quiet --create main
    fi
    set -- "$sample"
fi
path=$1
shift
.local/venv/bin/python -m tests.bench.review_latency bench sample "$path" --index "$@"
