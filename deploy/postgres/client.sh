# Sourced by backup.sh and restore.sh: PostgreSQL's client programs, and addresses fit for a
# command line.
# shellcheck shell=bash disable=SC2034

# Settings of the caller's own PostgreSQL must not redirect a backup.
unset "${!PG@}"

# The unpacked PostgreSQL when there is one: a client must not be older than the server.
BUNDLED_PROGRAMS=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")/.local/services/bin
if [ -x "$BUNDLED_PROGRAMS/pg_dump" ]; then
    PATH=$BUNDLED_PROGRAMS:$PATH
fi

require_programs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null ||
            fail "$program is not here: run 'make up' once, or install PostgreSQL 18's client programs."
    done
}

# Set ADDRESS to the URL without its password, which moves to the environment: command lines are
# public.
use_address() {
    local with_password='^([a-z]+://[^:@/]*):([^@/]*)@(.*)$'
    ADDRESS=$1
    unset PGPASSWORD
    if [[ $1 =~ $with_password ]]; then
        ADDRESS=${BASH_REMATCH[1]}@${BASH_REMATCH[3]}
        PGPASSWORD=$(percent_decoded "${BASH_REMATCH[2]}")
        export PGPASSWORD
    fi
}

percent_decoded() {
    local escaped=${1//\\/\\\\}
    printf '%b' "${escaped//%/\\x}"
}

# The same server and account, another database.
in_database() {
    local url=${1%%\?*} database=$2 query=${1#"${1%%\?*}"}
    case ${url#*://} in
        */*) echo "${url%/*}/$database$query" ;;
        *) echo "$url/$database$query" ;;
    esac
}

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}
