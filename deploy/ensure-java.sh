#!/usr/bin/env bash
# Ensures that a checkout has a JDK, Java 17 or newer: java for Spark, javac for the package's build. Both are in
# JAVA_HOME or on PATH, or, if this user can install packages (as root or with passwordless sudo on Debian and its
# derivatives), Debian's headless JDK is installed. Otherwise prints instructions and fails.
set -euo pipefail

minimum=17

fits() { # whether a java or javac is new enough
    local found
    found=$("$1" -version 2>&1 | sed -nE '1,3s/.*(version "|javac )(1\.)?([0-9]+).*/\3/p' | head -n 1)
    [ -n "$found" ] && [ "$found" -ge "$minimum" ]
}

give_up() {
    cat >&2 <<MESSAGE
A JDK is needed, Java $minimum or newer, and $1.
  Debian, Ubuntu:  apt-get install openjdk-17-jdk-headless   (as root)
  Fedora, RHEL:    dnf install java-17-openjdk-devel         (as root)
  macOS:           brew install openjdk@17
Or unpack any JDK $minimum or newer and set JAVA_HOME to its folder. A wheel of the package needs no JDK, only a Java
runtime.
MESSAGE
    exit 1
}

is_complete() {
    command -v java >/dev/null && fits java && command -v javac >/dev/null && fits javac
}

if [ -n "${JAVA_HOME:-}" ]; then
    [ -x "$JAVA_HOME/bin/java" ] || give_up "JAVA_HOME is $JAVA_HOME, which has no bin/java"
    fits "$JAVA_HOME/bin/java" || give_up "JAVA_HOME is $JAVA_HOME, which is older or cannot run"
    PATH="$JAVA_HOME/bin:$PATH"
fi
if is_complete; then
    exit 0
fi

run=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null || give_up "none is on PATH, and this user cannot install one"
    run=(sudo -n)
fi
command -v apt-get >/dev/null || give_up "none is on PATH, nor is there apt-get to install one"
echo "installing a JDK (Debian's headless one)" >&2
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get update -qq >&2 || true
for package in openjdk-17-jdk-headless default-jdk-headless; do
    if "${run[@]}" apt-get install -y -qq --no-install-recommends "$package" </dev/null >&2; then
        break
    fi
done
hash -r
is_complete || give_up "apt-get could not install one"
