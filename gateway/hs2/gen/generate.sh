#!/bin/sh
# Makes the modules of this folder from ../TCLIService.thrift; see README.md.
set -eu
cd "$(dirname "$0")"
out=$(mktemp -d)
thrift --gen py:dynamic,slots,enum -out "$out" ../TCLIService.thrift
for module in ttypes TCLIService constants; do
    # A spec is indexed by field id, so an id of 1281 is preceded by 1,200 lines of `None`: write them as one.
    perl -0pe 's/((?:    None,  # \d+\n){4,})/sprintf("    *(None,) * %d,\n", ($1 =~ tr{\n}{}))/ge' \
        "$out/gateway/hs2/gen/$module.py" > "$module.py"
done
rm -r "$out"
