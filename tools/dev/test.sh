# shellcheck shell=bash
# test: builds and runs parts of the suite, each leaving its results in build/results, then counts them all.
# A part that fails does not stop the next one. Sourced by ./dev.

RESULTS=$PWD/build/results
ALL_PARTS=(lint unit lit conformance e2e gpu-check docs headers asan tsan)

runTests() {
  local part started failed=()
  (($#)) || set -- "${ALL_PARTS[@]}"
  setup
  rm -rf "$RESULTS"
  mkdir -p "$RESULTS"
  for part in "$@"; do
    say "$part"
    started=$SECONDS
    runPart "$part" || failed+=("$part")
    echo "($part: $((SECONDS - started)) s)"
  done
  say "results"
  python3 tools/dev/report.py "$RESULTS" "${failed[@]}"
}

runPart() {
  case $1 in
    lint) lintPart ;;
    unit) buildPart release && runCTest release unit --label-exclude 'slow|gpu|lit|conformance' ;;
    conformance) buildPart release && conformancePart ;;
    e2e) buildPart release && runCTest release e2e --label-regex slow ;;
    gpu-check) buildPart release && step gpu-check gpuCheck ;;
    lit) buildPart release && runLit tests ;;
    docs) buildPart release && step docs python3 tools/dev/docs.py --check ;;
    runtime) buildPart runtime && runCTest runtime runtime ;;
    headers) step headers python3 tests/lint/headers.py ;;
    asan) buildPart debug fast-tests sinter-opt && asanPart ;;
    tsan) buildPart tsan && runSanitized runCTest tsan tsan ;;
    tests/*) buildPart release && runLit "$1" ;;
    *) buildPart release && runCTest release "$(tr -c 'A-Za-z0-9\n' _ <<<"$1")" --tests-regex "$1" ;;
  esac
}

# Ends with the counts of all shards together: a line for the CPU's two backends, one for the emulated card.
conformancePart() {
  local status=0
  runCTest release conformance --label-regex conformance --test-output-size-passed 1048576 || status=1
  grep -ho 'conformance: [0-9].*' "$RESULTS/conformance.ctest.xml" | sort | awk '
    { key = $(NF - 1); keys[key]; n[key] = NF
      for (i = 2; i <= NF; ++i) if ($i ~ /^[0-9]+$/) sum[key, i] += $i; else word[key, i] = $i }
    END { if (!NR) exit 1
          for (key in keys) {
            printf "conformance:"
            for (i = 2; i <= n[key]; ++i) printf " %s", (key, i) in sum ? sum[key, i] : word[key, i]
            print "" } }' || status=1
  return $status
}

# step NAME command…: one result of its own, passed when the command succeeds.
step() {
  local name=$1
  shift
  if "$@"; then
    printf 'passed\t%s\t\n' "$name" >>"$RESULTS/steps.tsv"
  else
    printf 'failed\t%s\t%s\n' "$name" "$*" >>"$RESULTS/steps.tsv"
    return 1
  fi
}

# Each preset is built once a run, and fails once.
declare -A built=()
buildPart() { # PRESET [target…]
  local preset=$1
  if [[ -z ${built[$preset]:-} ]]; then
    built[$preset]=no
    step "build $preset" build "$@" && built[$preset]=yes
  fi
  [[ ${built[$preset]} == yes ]]
}

lintPart() {
  local status=0
  step "lint" python3 tests/lint/lint.py || status=1
  step "lint's own tests" python3 tests/lint/lint_test.py || status=1
  step "report's own tests" python3 tests/lint/report_test.py || status=1
  command -v shellcheck >/dev/null || printf 'skipped\tlint: shell\tshellcheck is not installed\n' >>"$RESULTS/steps.tsv"
  return $status
}

# runCTest PRESET NAME [ctest options]: GoogleTest binaries also write one XML a binary, so that cases are counted.
runCTest() {
  local preset=$1 name=$2
  shift 2
  GTEST_OUTPUT=xml:$RESULTS/$name.gtest/ ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
    --timeout 900 -j "$(nproc)" --output-junit "$RESULTS/$name.ctest.xml" "$@"
}

# libMLIR and libLLVM are not instrumented: a container that they grow and our code reads has no marks of its size, and
# an arena of theirs that our copy of a template poisons is never unpoisoned.
asanPart() {
  local ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:${ASAN_OPTIONS:-} status=0
  runSanitized runCTest debug asan --label-regex fast || status=1
  runSanitized runLit tests debug || status=1
  return $status
}

# runSanitized COMMAND…: the first finding of a sanitizer ends the process that has it.
runSanitized() {
  ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:${ASAN_OPTIONS:-} \
    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-} \
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:${TSAN_OPTIONS:-} \
    "$@"
}

# runLit FOLDER [PRESET]
runLit() {
  local lit preset=${2:-release}
  [[ -f tests/lit.cfg.py ]] || { echo "no lit suite yet"; return 0; }
  lit=$(command -v lit-22 || echo /usr/lib/llvm-22/bin/lit)
  "$lit" -v -j "$(nproc)" --xunit-xml-output "$RESULTS/$(tr / _ <<<"$preset/$1").lit.xml" \
    -D "build=$PWD/build/$preset" "$1"
}
