#!/usr/bin/env bash
# Every check that needs no running service. `make check` calls it after `make setup`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PWD/.local/venv/bin:$PATH
# Settings want addresses; nothing here connects to them.
export CODEMEM_SECRET_KEY=check DATABASE_URL=postgresql://check@127.0.0.1/check REDIS_URL=redis://127.0.0.1/0

echo "ruff format"; ruff format --check --quiet . || { echo "Run: .local/venv/bin/ruff format ."; exit 1; }
echo "ruff check"; ruff check --quiet .
echo "mypy"; mypy --no-error-summary
echo "import contracts"; lint-imports --cache-dir .local/cache/import-linter > .local/cache/lint-imports.log \
    || { cat .local/cache/lint-imports.log; exit 1; }
echo "shellcheck"; git ls-files -z -- '*.sh' '*/codemem-hook' .ci/run | xargs -0 shellcheck -x
echo "check: everything is in order"
