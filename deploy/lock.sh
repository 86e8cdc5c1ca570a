#!/usr/bin/env bash
# Write the lock files anew from pyproject.toml: versions and hashes, no hosts.
#
#   deploy/lock.sh [uv pip compile ARGUMENTS, such as --upgrade or --upgrade-package NAME]
#
# requirements.lock has everything; deploy/requirements-server.lock only what the image runs, in the same versions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
uv=.local/tools/uv/bin/uv
[ -x "$uv" ] || { python3 -m venv .local/tools/uv && .local/tools/uv/bin/pip install --quiet uv; }

compile() {
    "$uv" pip compile pyproject.toml --universal --python-version 3.11 \
        --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet "$@"
}

compile --extra server --extra dev --output-file requirements.lock "$@"
compile --extra server --constraint requirements.lock --output-file deploy/requirements-server.lock
