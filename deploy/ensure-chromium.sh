#!/usr/bin/env bash
# Have Chromium for the tests of the console: the one on PATH, or, where this may install packages (root or passwordless
# sudo on Debian and its kin), Debian's. Without it those tests are left out, so this never fails.
set -euo pipefail

for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done

give_up() {
    echo "No Chromium: $1. The tests of the console are left out (apt-get install chromium)." >&2
    exit 0
}

run=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null || give_up "this user may not install one"
    run=(sudo -n)
fi
command -v apt-get >/dev/null || give_up "there is no apt-get to install one"
echo "installing Chromium (Debian's)" >&2
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get update -qq >&2 || true
"${run[@]}" apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core </dev/null >&2 ||
    give_up "apt-get could not install it"
