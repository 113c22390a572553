#!/usr/bin/env bash
# The project that `sinter new` writes configures, builds, trains, compiles and runs.
# usage: starter_test.sh <sinter> <prefix> <work folder>
set -euo pipefail
sinter=$1 prefix=$2 work=$3
rm -rf "$work"
"$sinter" new "$work"
cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror"
cmake --build "$work/build"
"$work/build/app" | tee "$work/output"
[[ $(grep -c 'in the ring with probability' "$work/output") == 3 ]]
# The middle one lies in the ring, the others do not.
awk '{ if ((NR == 2) != ($NF > 0.5)) exit 1 }' "$work/output"
if ldd "$work/build/app" "$work/build/libring.so" | grep -iE 'llvm|mlir|dnnl'; then
  exit 1
fi
