#!/usr/bin/env bash
# The main job end to end: train the CNN on MNIST, compile it to an artifact, use that from C and C++.
# usage: demo.sh BUILD_DIR; writes BUILD_DIR/demo. The last seven lines are the figures, `key value` each.
set -euo pipefail
export LC_ALL=C
(($# == 1)) || { echo "usage: demo.sh BUILD_DIR" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
out=$build/demo
goal=0.99 # test accuracy

say() { printf '\n== %s\n' "$*"; }
fail() { echo "demo: $*" >&2; exit 1; }
# figure KEY FILE: the value behind KEY.
figure() { awk -v key="$1" '$1 == key { value = $2 } END { print value; exit value == "" }' "$2"; }
holds() { awk "BEGIN { exit !($1) }"; }

train() {
  say "train: the CNN by the JIT, until $goal of the test digits are right, 4 epochs at most"
  "$build/bin/mnist_train" --epochs=4 --learning-rate=0.002 --target=$goal --predictions="$out/jit-logits.npy" \
    --package="$out/mnist.mlirbc" | tee "$out/train.log" || fail "the training failed; see $out/train.log"
  accuracy=$(figure test_accuracy "$out/train.log") || fail "the training printed no test_accuracy"
  train_seconds=$(figure train_seconds "$out/train.log") || fail "the training printed no train_seconds"
  holds "$accuracy >= $goal" || fail "the test accuracy is $accuracy after 4 epochs, and should be $goal"
}

compile() {
  say "compile: the package becomes libmnist.so, with mnist.h and the weights beside it; no compiler inside"
  local started=${EPOCHREALTIME/./}
  "$build/bin/sinter" compile "$out/mnist.mlirbc" -o "$out/libmnist.so" --header="$out/mnist.h" ||
    fail "sinter compile failed"
  compile_seconds=$(awk -v us=$((${EPOCHREALTIME/./} - started)) 'BEGIN { printf "%.2f", us / 1e6 }')
}

consumers() {
  say "build: two programs that know the artifact by its header alone, in C99 and in C++17 without exceptions"
  local flags=(-O2 -Wall -Wextra -Werror -pedantic-errors -I "$out" -I "$here/../../runtime/abi/include")
  # shellcheck disable=SC2016 # the loader expands it
  local link=(-L "$out" -lmnist '-Wl,-rpath,$ORIGIN')
  "${CC:-cc}" -std=c99 "${flags[@]}" "$here/consumers/classify.c" -o "$out/classify" "${link[@]}" ||
    fail "the C program does not build"
  "${CXX:-c++}" -std=c++17 -fno-exceptions -fno-rtti "${flags[@]}" "$here/consumers/classify.cc" \
    -o "$out/classify-cc" "${link[@]}" || fail "the C++ program does not build"
}

classify() {
  say "classify: both programs on the 10,000 test digits"
  images=$out/test-images labels=$out/test-labels
  gzip -dc "$here/data/t10k-images-idx3-ubyte.gz" >"$images" || fail "the test images cannot be unpacked"
  gzip -dc "$here/data/t10k-labels-idx1-ubyte.gz" >"$labels" || fail "the test labels cannot be unpacked"
  local ofC ofCxx
  ofC=$("$out/classify" "$images" "$labels" "$out/logits.npy" "$out/digits.npy") || fail "the C program failed"
  ofCxx=$("$out/classify-cc" "$images" "$labels") || fail "the C++ program failed"
  printf 'C   %s\nC++ %s\n' "$ofC" "$ofCxx"
  [[ $ofC == "$ofCxx" ]] || fail "the C and the C++ program differ"
}

# Rows of the JIT's logits, of the artifact's, and the artifact's digit.
compare() {
  say "compare: the artifact's logits and digits with those of the JIT that trained"
  local n=$(($(stat -c %s "$labels") - 8))
  paste -d ' ' <(tail -c $((40 * n)) "$out/jit-logits.npy" | od -An -v -t f4 -w40) \
    <(tail -c $((40 * n)) "$out/logits.npy" | od -An -v -t f4 -w40) \
    <(tail -c $((8 * n)) "$out/digits.npy" | od -An -v -t d8 -w8) |
    awk -v n="$n" 'NF != 21 { exit 1 }
      { best = 1
        for (i = 1; i <= 10; ++i) {
          if ($i > $best) best = i
          error = $i - $(i + 10); if (error < 0) error = -error
          if (!(error <= most)) most = error # NaN too
        }
        equal += best - 1 == $21 }
      END { if (NR != n) exit 1
            printf "artifact_agreement %.4f\nartifact_max_logit_error %.3g\n", equal / n, most }' \
      >"$out/compare.log" || fail "the JIT and the artifact wrote results of different shapes"
  agreement=$(figure artifact_agreement "$out/compare.log")
  error=$(figure artifact_max_logit_error "$out/compare.log")
  echo "the same digit for $agreement of the images"
  holds "$agreement >= 0.999" || fail "the artifact's digits differ from the JIT's: agreement $agreement"
}

coldStart() {
  say "start: 20 processes of the C program, from the start of each to its end after one digit"
  local i started times=()
  for ((i = 0; i < 20; ++i)); do
    started=${EPOCHREALTIME/./}
    "$out/classify" --first "$images" >"$out/first.log" || fail "the C program failed on one image"
    times+=($((${EPOCHREALTIME/./} - started)))
  done
  printf '%s\n' "${times[@]}" | sort -n >"$out/start.log"
  cold_start_ms=$(awk '{ t[NR] = $1 } END { printf "%.2f", (t[NR / 2] + t[NR / 2 + 1]) / 2000 }' "$out/start.log")
  echo "$(head -n 1 "$out/start.log") to $(tail -n 1 "$out/start.log") microseconds"
}

[[ -x $build/bin/mnist_train && -x $build/bin/sinter ]] || fail "$build/bin has no mnist_train or no sinter: ./dev build"
mkdir -p "$out"
train
compile
consumers
classify
compare
coldStart
say "results, all files in $out"
cat <<TEXT
test_accuracy $accuracy
artifact_agreement $agreement
artifact_max_logit_error $error
compile_seconds $compile_seconds
train_seconds $train_seconds
artifact_bytes $(stat -c %s "$out/libmnist.so")
cold_start_ms $cold_start_ms
TEXT
