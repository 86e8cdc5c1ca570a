#!/usr/bin/env bash
# Run the real helm: the one on PATH, or else one built here once from its Go module at a pinned
# version.
#
#   deploy/helm.sh version
#   deploy/helm.sh template codemem helm --values my-values.yaml
#
# Building takes about 160 CPU seconds (100 s on two quiet cores) and leaves one binary in
# .local/tools/bin; the gigabyte of Go caches it needs is thrown away. Several callers at once
# build once.
set -euo pipefail
umask 022

readonly MODULE=helm.sh/helm/v3
readonly VERSION=v3.22.0
# The Kubernetes that version of helm was made for: what its own Makefile would set.
readonly KUBERNETES_MINOR=37
CHECKOUT=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
readonly CHECKOUT
readonly TOOLS=$CHECKOUT/.local/tools/bin
readonly BUILT=$TOOLS/helm-$VERSION
readonly CACHE=$CHECKOUT/.local/cache/go/helm

main() {
    local helm
    if helm=$(command -v helm); then
        exec "$helm" "$@"
    fi
    [ -x "$BUILT" ] || build_once
    exec "$BUILT" "$@"
}

build_once() {
    command -v go >/dev/null || \
        fail "helm is neither on PATH nor can it be built here: install helm 3, or Go to build it."
    mkdir -p "$TOOLS"
    exec 9>"$TOOLS/helm.lock"
    flock 9
    # Whoever waited for the lock finds the binary there.
    [ -x "$BUILT" ] || build
    exec 9>&-
}

build() {
    local minor
    minor=k8sVersionMinor=$KUBERNETES_MINOR
    echo "Building helm $VERSION once, into .local/tools/bin (one to three minutes)." >&2
    rm -rf "$CACHE"
    mkdir -p "$CACHE"
    # Without modcacherw the module cache is read-only and rm -rf would need help from go clean.
    # -N -l leave the optimizer out, which takes a third off the build (230 to 160 CPU seconds);
    # charts this small do not notice.
    GOPATH=$CACHE/path GOCACHE=$CACHE/build GOBIN=$CACHE/bin \
        GOFLAGS="${GOFLAGS:-} -modcacherw" CGO_ENABLED=0 \
        go install -p 2 -gcflags='all=-N -l' \
        -ldflags="-s -w -X $MODULE/pkg/chartutil.$minor -X $MODULE/pkg/lint/rules.$minor" \
        "$MODULE/cmd/helm@$VERSION" >"$CACHE/log" 2>&1 ||
        fail "Building helm $VERSION failed: $(tail -n 5 "$CACHE/log")"
    mv "$CACHE/bin/helm" "$BUILT"
    rm -rf "$CACHE"
}

fail() {
    echo "deploy/helm.sh: $*" >&2
    exit 1
}

main "$@"
