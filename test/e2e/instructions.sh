#!/bin/sh
# Ten workloads need no more instructions than the baseline says: an exact
# figure, whatever else the machine does (tools/profile, docs/testing.md).

cd "$(dirname "$0")/../.." || exit 1
exec tools/profile --tap --program "${BUILD:-build/gcc-release}/bin/profile" "$@"
