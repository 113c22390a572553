# shellcheck shell=bash
# gpu-check: records what a GPU machine shall run, bundles it with its runner, and runs the bundle on the emulated card.
# Sourced by ./dev.

GPU_CHECK=$PWD/build/gpu-check
# shellcheck disable=SC2034  # what ./dev builds for it
GPU_CHECK_TARGETS=(gpu-check gpu-check-device gpu-check-record conformance_test)
GPU_CHECK_LIMIT=60000000 # bytes

# gpuCheck [arguments for the bundle's run.sh in the dry run]
gpuCheck() {
  local bin=$PWD/build/release/bin bundle
  bundle=sinter-gpu-check-$(sed -n 's/^project(sinter VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  rm -rf "$GPU_CHECK"
  mkdir -p "$GPU_CHECK"
  recordPacks "$bin" "$GPU_CHECK/record" || return 1
  linkEmulated "$GPU_CHECK/record/emulated" || return 1
  stageBundle "$bin" "$GPU_CHECK/record" "$GPU_CHECK/$bundle" || return 1
  tar -C "$GPU_CHECK" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$bundle" |
    gzip -9 >"$GPU_CHECK/$bundle.tar.gz" || return 1
  rm -rf "${GPU_CHECK:?}/$bundle"
  checkSize "$GPU_CHECK/$bundle.tar.gz" || return 1
  dryRun "$bundle" "$@"
}

# Both halves at a time; the shards of the conformance suite each write the packs of their ops.
recordPacks() { # BIN FOLDER
  local shard shards pids=() pid status=0
  shards=$(nproc)
  say "recording"
  "$1/gpu-check-record" "$2" || return 1
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard GTEST_OUTPUT='' "$1/conformance_test" "--record=$2" \
      >"$(log "gpu-check-record-$shard")" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  ((status == 0)) || grep -h -A3 'Failure' build/logs/gpu-check-record-*.log >&2
  return $status
}

linkEmulated() { # FOLDER
  local object
  while IFS= read -r object; do
    c++ -shared -o "${object%.o}.so" "$object" -lm || return 1
    rm "$object"
  done < <(find "$1" -name '*.o')
}

stageBundle() { # BIN RECORD FOLDER
  local program
  mkdir -p "$3"
  for program in gpu-check gpu-check-device; do
    strip -o "$3/$program" "$1/$program" || return 1
    checkProgram "$3/$program" || return 1
  done
  cp -r "$2/packs" "$2/exchange" "$3/"
  cp tools/gpu-check/{run.sh,gpu_check.py,torch_peer.py} benchmarks/peers/mnist_torch.py "$3/"
  cp tools/gpu-check/README.txt LICENSE "$3/"
  git describe --always --dirty >"$3/VERSION" 2>/dev/null || echo unknown >"$3/VERSION"
}

# A program of the bundle starts wherever there is a C library of Ubuntu 24.04's age or later (made on Debian 12, of that
# one's): nothing else is linked, the driver least of all.
checkProgram() { # PROGRAM
  local needed newest
  needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vxE 'lib(c|m|dl|pthread)\.so\.[0-9]+|ld-linux-x86-64\.so\.2')
  [[ -z $needed ]] || { echo "gpu-check: $1 needs $needed, which another machine may lack" >&2; return 1; }
  newest=$(readelf -V "$1" | grep -o 'GLIBC_2\.[0-9]*' | sort -V | tail -n1)
  if [[ $(printf '%s\n' "$newest" GLIBC_2.39 | sort -V | tail -n1) != GLIBC_2.39 ]]; then
    echo "gpu-check: $1 needs $newest; the oldest machines it is for, with Ubuntu 24.04, have GLIBC_2.39" >&2
    return 1
  fi
  echo "$(basename "$1"): $(stat -c %s "$1") bytes, needs $newest and no other library"
}

checkSize() { # FILE
  local size
  size=$(stat -c %s "$1")
  echo "$1: $size bytes"
  ((size < GPU_CHECK_LIMIT)) || { echo "gpu-check: the bundle has more than $GPU_CHECK_LIMIT bytes" >&2; return 1; }
}

# The bundle as it would be used, from a folder that has nothing else, on the emulated card.
dryRun() { # BUNDLE [arguments]
  local folder=$GPU_CHECK/unpacked bundle=$1
  shift
  say "dry run on the emulated card"
  mkdir -p "$folder"
  tar -C "$folder" -xzf "$GPU_CHECK/$bundle.tar.gz" || return 1
  (cd "$folder/$bundle" && ./run.sh --device=emu --emulated="$GPU_CHECK/record/emulated" --workers="$(nproc)" \
    --results="$GPU_CHECK/dry-run.json" "$@") || return 1
  rm -rf "$folder"
  echo "bundle: $GPU_CHECK/$bundle.tar.gz"
}
