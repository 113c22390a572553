#!/usr/bin/env bash
# Runs the check from its own folder; `./run.sh --help` tells what there is.
exec "${PYTHON:-python3}" "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/gpu_check.py" "$@"
