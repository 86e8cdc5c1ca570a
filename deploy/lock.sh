#!/usr/bin/env bash
# Write requirements.lock anew from pyproject.toml: versions and hashes, no hosts.
#
#   deploy/lock.sh [uv pip compile ARGUMENTS, such as --upgrade or --upgrade-package NAME]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
uv=.local/tools/uv/bin/uv
[ -x "$uv" ] || { python3 -m venv .local/tools/uv && .local/tools/uv/bin/pip install --quiet uv; }
"$uv" pip compile pyproject.toml --extra server --extra dev --universal --python-version 3.11 \
    --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet \
    --output-file requirements.lock "$@"
