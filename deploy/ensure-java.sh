#!/usr/bin/env bash
# Ensures that Spark finds Java 17 or newer: in JAVA_HOME, on PATH, or, if this user can install packages (as root or
# with passwordless sudo on Debian and its derivatives), Debian's headless runtime. Otherwise prints instructions and
# fails.
set -euo pipefail

minimum=17

version_of() { # the major version of a java, or nothing
    "$1" -version 2>&1 | sed -nE '1,3s/.*version "(1\.)?([0-9]+).*/\2/p' | head -n 1
}

fits() {
    local found
    found=$(version_of "$1") && [ -n "$found" ] && [ "$found" -ge "$minimum" ]
}

give_up() {
    cat >&2 <<MESSAGE
Spark needs Java $minimum or newer, and $1.
  Debian, Ubuntu:  apt-get install openjdk-17-jre-headless   (as root)
  Fedora, RHEL:    dnf install java-17-openjdk-headless      (as root)
  macOS:           brew install openjdk@17
Or unpack any Java $minimum or newer and set JAVA_HOME to its folder.
MESSAGE
    exit 1
}

if [ -n "${JAVA_HOME:-}" ]; then
    [ -x "$JAVA_HOME/bin/java" ] || give_up "JAVA_HOME is $JAVA_HOME, which has no bin/java"
    fits "$JAVA_HOME/bin/java" || give_up "JAVA_HOME is $JAVA_HOME, which is older or cannot run"
    exit 0
fi
if command -v java >/dev/null && fits java; then
    exit 0
fi

run=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null || give_up "none is on PATH, and this user cannot install one"
    run=(sudo -n)
fi
command -v apt-get >/dev/null || give_up "none is on PATH, nor is there apt-get to install one"
echo "installing Java (Debian's headless runtime)" >&2
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get update -qq >&2 || true
for package in openjdk-17-jre-headless default-jre-headless; do
    if "${run[@]}" apt-get install -y -qq --no-install-recommends "$package" </dev/null >&2; then
        break
    fi
done
command -v java >/dev/null && fits java || give_up "apt-get could not install one"
