#!/usr/bin/env bash
# The main job end to end: train the CNN on MNIST, compile it to an artifact, run that. usage: demo.sh BUILD_DIR
set -euo pipefail
build=$1
out=$build/demo
mkdir -p "$out"
"$build/bin/mnist_train" --epochs=5 --target=0.99 --package="$out/mnist.mlirbc"
started=$(date +%s.%N)
"$build/bin/sinter" compile "$out/mnist.mlirbc" -o "$out/libmnist.so" --header="$out/mnist.h"
ended=$(date +%s.%N)
"$build/bin/sinter" run "$out/libmnist.so" --entry=classify
awk -v a="$started" -v b="$ended" 'BEGIN { printf "compile_seconds %.2f\n", b - a }'
echo "artifact_bytes $(stat -c %s "$out/libmnist.so")"
