#!/usr/bin/env bash
# The end of `make up`: shows a stranger where everything is, through the real front door.
#
#   deploy/tour.sh CREDENTIALS       (expects the settings of the running instance in the environment)
set -euo pipefail
# shellcheck disable=SC1090
. "$1"
codemem=.local/venv/bin/codemem
repository=$(basename "$PWD" | tr '[:upper:]' '[:lower:]' | tr -c 'a-z0-9\n' '-' | sed 's/^-*//; s/-*$//')
export CODEMEM_URL=$CODEMEM_PUBLIC_URL CODEMEM_TOKEN=$CODEMEM_DEVELOPER_TOKEN
export CODEMEM_NAMESPACE=team CODEMEM_REPOSITORY=$repository

section() { printf '\n\033[1m%s\033[0m\n' "$*"; }

section "codemem runs at $CODEMEM_URL"
cat <<TEXT
  admin         $CODEMEM_URL/admin/      user $CODEMEM_ADMIN_USER, password $CODEMEM_ADMIN_PASSWORD
  API           $CODEMEM_URL/api/docs
  your shell    eval "\$(make -s env)"     then: codemem status, codemem search, codemem review
TEXT

section "Connect an agent (MCP over HTTP)"
cat <<TEXT
  claude mcp add -s user -t http codemem $CODEMEM_URL/mcp/r/team/$repository -H 'Authorization: Bearer \${CODEMEM_TOKEN}'

  or, in .mcp.json:
  {"mcpServers": {"codemem": {"type": "http", "url": "$CODEMEM_URL/mcp/r/team/$repository",
    "headers": {"Authorization": "Bearer \${CODEMEM_TOKEN}"}}}}
TEXT

section "Ask the team's memory: codemem search 'why do range queries lose rows'"
"$codemem" search "why do range queries lose rows"

section "Who depends on the last commit: git diff HEAD~1 HEAD | codemem review"
# A clone may be one commit deep: then everything is new.
before=$(git rev-parse --verify --quiet HEAD~1 || git hash-object -t tree /dev/null)
git diff "$before" HEAD | "$codemem" review --base "$before" | sed -n '1,40p'

section "Stop it with: make down"
