// Session: a device, a seed, the variables, and what was compiled for them.
//
// It owns every variable, so modules, optimizers and jitted functions of a session refer to it
// and it must outlive their use. One thread at a time. The session made last in a thread also
// runs operations on Tensors that belong to no session.
#pragma once

#include "sinter/types.h"

#include <functional>
#include <string_view>

namespace sinter {

/// What `--sinter-*` flags set.
struct Options {
  /// Where steps run: "cpu"; "cuda", "cuda:1": that card; "emu": CUDA kernels on the emulated card.
  std::string device = "cpu";
  std::string emu;           ///< emu: "check" kernels, or "count" what they do; "": neither
  std::string card = "h200"; ///< whose times counts predict
  uint64_t seed = 0;
  int threads = 0; ///< 0: one for each hardware thread
  /// Library for matrix products and convolutions: "onednn" on the CPU, "nvidia" on cards, "none":
  /// generated kernels, "auto": the device's, where it is there.
  std::string vendor = "auto";
  /// cuda: what the process's CUDA devices are set to, "device-memory=8G" (docs/gpu.md).
  std::vector<std::string> cuda;
  std::vector<std::string> dumpIr; ///< "after:<pass>" or "all"
  std::string profile;             ///< "-": a table on stderr at the end; else a trace file too
  bool checkNumerics = false;      ///< the first NaN or infinity of a step is an Error
  bool printFusion = false;
  bool fuse = true;
  bool deterministic = true; ///< cards: same bits from the same step; false: sums by atomics
  bool verbose = true;       ///< a line on stderr for each compilation, and for what is missing

  /// Takes the --sinter-* flags out of argv; others stay. An unknown one is an Error that
  /// names the nearest.
  static Options fromArgs(int &argc, char **argv);
  /// One flag, "--sinter-seed=7".
  void set(std::string_view flag);
  static std::string help(); ///< the flags and what they do, a line each
};

namespace detail {
struct SessionState;
}

class Session {
public:
  explicit Session(Options options = {});
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const Options &options() const;
  /// Changes an option. Too late (the seed once a variable has its value, the device, threads and
  /// vendor once something was compiled) is an Error.
  void setOption(std::string_view flag, Where at = Where::current());

  /// All variables (parameters, optimizer slots, statistics, random state) as safetensors: a
  /// checkpoint from which a run continues with the same bits.
  void save(const std::string &path) const;
  void load(const std::string &path, Where at = Where::current());

  /// Receives what `probe` shows; the default prints it.
  void onProbe(std::function<void(std::string_view label, const Array &value)> callback);
  /// Times of all steps so far, as a table; empty without --sinter-profile.
  std::string profile() const;

  const std::shared_ptr<detail::SessionState> &state() const { return shared; }

private:
  std::shared_ptr<detail::SessionState> shared;
};

} // namespace sinter
