#!/usr/bin/env bash
# Ensures that Maven's client is there for the tests' jars: the one on PATH, or, if this user can install packages (as
# root or with passwordless sudo on Debian and its derivatives), Debian's. Otherwise prints instructions and fails.
set -euo pipefail

command -v mvn >/dev/null && exit 0

give_up() {
    echo "Maven is needed for the tests of the Java classes: $1. On Debian: apt-get install maven" >&2
    exit 1
}

run=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null || give_up "this user may not install it"
    run=(sudo -n)
fi
command -v apt-get >/dev/null || give_up "there is no apt-get to install it"
echo "installing Maven (Debian's)" >&2
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get update -qq >&2 || true
"${run[@]}" apt-get install -y -qq --no-install-recommends maven </dev/null >&2 || give_up "apt-get could not install it"
