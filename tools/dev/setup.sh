# shellcheck shell=bash
# setup: installs the packages a build needs and the machine lacks. Sourced by ./dev.

SINTER_PACKAGES=(
  g++ cmake ninja-build pkg-config git ccache python3 python3-venv
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools lld-22
  clang-22 clang-format-22 clang-tidy-22 libclang-rt-22-dev
  libdnnl-dev libboost-context-dev libcli11-dev zlib1g-dev libgtest-dev googletest libbenchmark-dev shellcheck
)

missingPackages() {
  local package
  for package in "${SINTER_PACKAGES[@]}"; do
    # shellcheck disable=SC2016  # dpkg-query's own variable
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

# The packages of "$@" that no configured archive offers.
packagesWithoutCandidate() {
  local package policy
  for package in "$@"; do
    policy=$(apt-cache policy "$package" 2>/dev/null)
    [[ $policy =~ Candidate:\ [^\(] ]] || echo "$package"
  done
}

setup() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    setupElsewhere
    return
  fi
  local missing unavailable
  mapfile -t missing < <(missingPackages)
  if ((${#missing[@]} == 0)); then
    echo "setup: all ${#SINTER_PACKAGES[@]} packages are there"
    return
  fi
  echo "setup: missing ${missing[*]}"
  local root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "setup needs root or sudo; as root: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  mapfile -t unavailable < <(packagesWithoutCandidate "${missing[@]}")
  if ((${#unavailable[@]})); then
    "${root[@]}" apt-get update -qq || echo "setup: apt-get update failed; going on with the lists there are" >&2
    mapfile -t unavailable < <(packagesWithoutCandidate "${missing[@]}")
  fi
  ((${#unavailable[@]} == 0)) || explainUnavailable "${unavailable[@]}"
  installPackages "${missing[@]}" || {
    # Lists older than the archive name files that are gone.
    "${root[@]}" apt-get update -qq && installPackages "${missing[@]}"
  } || die "apt-get could not install: ${missing[*]}"
}

installPackages() {
  local root=()
  ((EUID == 0)) || root=(sudo)
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

explainUnavailable() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-<codename>}")
  {
    echo "dev: no configured archive has: $*"
    if [[ $* == *22* ]]; then
      echo "  LLVM and MLIR 22: Debian 12 has them in its security archive:"
      echo "    deb http://security.debian.org/debian-security bookworm-security main"
      echo "  other distributions in the LLVM project's own (https://apt.llvm.org tells how to add its key):"
      echo "    deb http://apt.llvm.org/$codename/ llvm-toolchain-$codename-22 main"
    fi
    echo "  The runtime alone (cmake --preset runtime) builds without LLVM."
  } >&2
  exit 1
}

# No apt: nothing to install with, but say what a build will look for.
setupElsewhere() {
  local tool missing=()
  for tool in c++ cmake ninja git python3 ld.lld mlir-tblgen; do
    command -v "$tool" >/dev/null || [[ -x /usr/lib/llvm-22/bin/$tool ]] || missing+=("$tool")
  done
  ((${#missing[@]} == 0)) || die "this system has no apt-get; install by hand: ${missing[*]}" \
    "(and oneDNN, GoogleTest, MLIR 22 with its CMake files)"
  echo "setup: no apt-get here, but every tool is there"
}
