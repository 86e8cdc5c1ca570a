#!/usr/bin/env bash
# Install the SCIP indexers that workers run, into a folder of your own; nothing is installed on the host.
#
#   deploy/indexers.sh [python] [typescript] [go] [rust] [java] [wall]     default: all that this host can have
#
# They go to .local/indexers (CODEMEM_SCIP_TOOLS names another folder); workers find them there without a
# setting. Versions are fixed here and in deploy/indexers/: npm packages by integrity hash, Maven's by SHA-256,
# Go's by the checksum database, Debian's by the archive's keys. What an indexer needs to run (Node, Go, a
# JDK) must be on the host: without it, that indexer is left out with a word.
# shellcheck disable=SC2016  # what `program` writes is filled in by the program itself
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly SCIP_GO=v0.2.9
readonly DEBIAN_SUITE=forky      # the suite whose PostgreSQL deploy/postgres/bundle.sh unpacks
readonly LOCKS=$PWD/deploy/indexers
TOOLS=${CODEMEM_SCIP_TOOLS:-$PWD/.local/indexers/bin}
PREFIX=$(dirname "$(realpath -m "$TOOLS")")
BIN=$PREFIX/bin

main() {
    local wanted=("$@") one
    [ $# -gt 0 ] || wanted=(wall python typescript go rust java)
    mkdir -p "$BIN"
    exec 8>"$PREFIX/lock"
    flock 8
    for one in "${wanted[@]}"; do
        case $one in
            python | typescript) needs node npm && install_npm ;;
            go) needs go && install_go ;;
            java) needs java javac mvn unzip && install_java ;;
            rust) needs apt-get dpkg-deb && install_rust ;;
            wall) needs apt-get dpkg-deb && install_wall ;;
            *) fail "unknown indexer: $one" ;;
        esac || say "left out: $one"
    done
    say "installed in $PREFIX: $(find "$BIN" -mindepth 1 -printf '%f ')"
}

needs() {
    local program
    for program in "$@"; do
        command -v "$program" > /dev/null || { say "$program is not on this host"; return 1; }
    done
}

install_npm() {
    is_current npm "$LOCKS/package.json" "$LOCKS/package-lock.json" && return
    mkdir -p "$PREFIX/npm"
    cp "$LOCKS/package.json" "$LOCKS/package-lock.json" "$PREFIX/npm/"
    # No package's own scripts: these two have none that they need.
    (cd "$PREFIX/npm" && npm ci --ignore-scripts --no-audit --no-fund --omit=dev --silent)
    program scip-python 'exec node "$here/../npm/node_modules/@sourcegraph/scip-python/index.js" "$@"'
    program scip-typescript 'exec node "$here/../npm/node_modules/@sourcegraph/scip-typescript/dist/src/main.js" "$@"'
    # scip-python would ask an interpreter for its path, and an interpreter may be the repository's.
    mkdir -p "$PREFIX/shim"
    for one in python python3; do
        printf '#!/bin/sh\necho '\''{"path":[],"prefix":"/usr","major":3,"minor":13}'\''\n' > "$PREFIX/shim/$one"
        chmod 755 "$PREFIX/shim/$one"
    done
    is_done npm "$LOCKS/package.json" "$LOCKS/package-lock.json"
}

install_go() {
    [ -x "$BIN/scip-go" ] && go version -m "$BIN/scip-go" | grep -q "$SCIP_GO" && return
    GOBIN=$BIN GOFLAGS=-mod=mod go install "github.com/scip-code/scip-go/cmd/scip-go@$SCIP_GO"
}

install_java() {
    is_current java "$LOCKS/pom.xml" "$LOCKS/java.sha256" && return
    rm -rf "$PREFIX/java"
    mkdir -p "$PREFIX/java"
    mvn --quiet --batch-mode --file "$LOCKS/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
        -DoutputDirectory="$PREFIX/java/jars" -DincludeScope=runtime
    (cd "$PREFIX/java/jars" && sha256sum --quiet --check "$LOCKS/java.sha256")
    unzip -oq "$PREFIX"/java/jars/scip-java_2.13-*.jar semanticdb-plugin.jar -d "$PREFIX/java"
    program scip-java 'exec java -cp "$here/../java/jars/*" com.sourcegraph.scip_java.ScipJava "$@"'
    install -m 755 "$LOCKS/scip-java-sources" "$BIN/scip-java-sources"
    is_done java "$LOCKS/pom.xml" "$LOCKS/java.sha256"
}

install_rust() {
    is_current rust "$0" && return
    unpack rust rust-analyzer rust-src
    rm -rf "$PREFIX/rust-src"
    mkdir -p "$PREFIX/rust-src/library"
    local one source
    source=$(echo "$PREFIX"/rust/usr/src/rustc-*/library)
    for one in alloc core panic_abort panic_unwind proc_macro std std_detect test unwind; do
        cp -r "$source/$one" "$PREFIX/rust-src/library/"
    done
    rm -rf "$PREFIX/rust/usr/src" "$PREFIX/rust/usr/lib/rustlib" "$PREFIX/rust/usr/share"
    unpacked_program rust rust-analyzer
    is_done rust "$0"
}

install_wall() {
    command -v bwrap > /dev/null && return
    is_current wall "$0" && return
    unpack wall bubblewrap
    unpacked_program wall bwrap
    is_done wall "$0"
}

# Unpack Debian packages and their libraries into PREFIX/NAME, with an apt of our own.
unpack() {
    local name=$1 apt=$PREFIX/apt mirror keyring package
    shift
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : > "$apt/status"
    mirror=${DEBIAN_MIRROR:-$(apt-get indextargets -oAPT::Get::IndexTargets::Filtered=false \
        -oAPT::Get::IndexTargets::ReleaseInfo=false --format '$(REPO_URI)' 2> /dev/null |
        awk '/\/debian(\.list)?\/?$/ { print; exit }')}
    keyring=${DEBIAN_KEYRING:-$(find /usr/share/keyrings -name 'debian-archive-keyring.*' | sort | head -1)}
    [ -n "$mirror" ] && [ -r "$keyring" ] || { say "no Debian mirror, or no archive keys"; return 1; }
    echo "deb [arch=$(dpkg --print-architecture) target=Packages signed-by=$keyring] $mirror $DEBIAN_SUITE main" \
        > "$apt/sources.list"
    {
        apt-config dump Acquire | grep -vE '::(IndexTargets|Changelogs|Allow[A-Za-z]*|Languages)\b'
        cat << CONF
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Debug::NoLocking "true";
APT::Sandbox::User "$(id -un)";
APT::Install-Recommends "false";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::Languages "none";
CONF
    } > "$apt/apt.conf"
    APT_CONFIG=$apt/apt.conf apt-get -qq update
    APT_CONFIG=$apt/apt.conf apt-get -qq --yes --download-only install "$@"
    rm -rf "${PREFIX:?}/$name"
    mkdir -p "$PREFIX/$name"
    for package in "$apt"/cache/archives/*.deb; do
        dpkg-deb --extract "$package" "$PREFIX/$name"
    done
    rm -rf "$apt"
}

# Their C library is newer than most hosts', so they are started by its own loader.
unpacked_program() {
    program "$2" 'libraries=$(echo "$here"/../'"$1"'/usr/lib/*-linux-gnu)
exec "$(echo "$libraries"/ld-linux*)" --library-path "$libraries" "$here/../'"$1/usr/bin/$2"'" "$@"'
}

program() {
    printf '#!/bin/sh\nhere=$(dirname "$(readlink -f "$0")")\n%s\n' "$2" > "$BIN/$1"
    chmod 755 "$BIN/$1"
}

is_current() {
    local name=$1
    shift
    [ "$(cat "$PREFIX/$name.stamp" 2> /dev/null)" = "$(cat "$@" | sha256sum)" ]
}

is_done() {
    local name=$1
    shift
    cat "$@" | sha256sum > "$PREFIX/$name.stamp"
}

say() {
    echo "indexers: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

main "$@"
