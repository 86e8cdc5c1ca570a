#!/usr/bin/env bash
# Measure how long an agent waits for an answer about code (tests/bench/http_latency.py) on Postgres and
# Redis of its own.
#
#   deploy/bench_http.sh [PATH [--questions N] ...]     default: django/django at 5.2.8, cloned when missing
#
# On a busy machine root gets figures of a quiet one with `chrt --rr 1 deploy/bench_http.sh`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/bench_instance.sh
. deploy/bench_instance.sh bench-http
if [ $# -eq 0 ]; then
    sample=$instance/django
    if [ ! -d "$sample" ]; then
        git clone --quiet --depth 1 --branch 5.2.8 https://github.com/django/django.git "$sample"
        # A branch to index: a tag leaves none.
        git -C "$sample" switch --quiet --create main
    fi
    set -- "$sample"
fi
path=$1
shift
.local/venv/bin/python -m tests.bench.http_latency bench sample --index "$path" "$@"
