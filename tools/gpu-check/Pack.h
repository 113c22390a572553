// A recorded program: what a GPU machine needs to run it and to judge the results, in one file.
//
// Written where the compiler is, read by the runner where it is not. A pack holds a compiled
// program, its device code in several forms, and cases: first values of variables, steps with
// inputs, and what each step must give, with a bound. All of it is plain data, owned by the Pack;
// one thread at a time.
#pragma once

#include "sinter/base/status.h"
#include "sinter/core/array.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::gpucheck {

/// Raised whenever the meaning or encoding of anything below changes.
inline constexpr uint32_t kPackVersion = 1;

/// The kernels of the program for one architecture.
struct DeviceCode {
  enum class Form : uint8_t { Ptx, Cubin };
  Form form = Form::Ptx;
  std::string architecture; ///< "sm_90"
  int32_t toolkit = 0;      ///< of a cubin, 1000 major + 10 minor; 0: not known
  std::string bytes;
};

struct NamedArray {
  std::string name;
  rt::Array value;
};

/// |got - expected| <= relative * max(|expected|, floor, scale) + absolute for each element. Other
/// types than floats must be equal; a NaN or infinity must be the same one.
struct Bound {
  double relative = 0, floor = 0, absolute = 0;
  rt::Array scale = {}; ///< f64, of the value's dims, or none
};

/// A result of a step, or a variable after it.
struct Expected {
  enum class Of : uint8_t { Result, Variable };
  Of of = Of::Result;
  uint32_t position = 0; ///< Result: which
  std::string name;      ///< "result 0", or the variable's
  rt::Array value;
  Bound bound;
};

struct Step {
  std::vector<rt::Array> inputs;
  std::vector<Expected> expected;
};

/// Steps of one entry, one after the other, from given variables.
struct Case {
  std::string name;
  std::string entry;
  std::vector<NamedArray> variables; ///< others are zero
  std::vector<Step> steps;
};

struct Pack {
  std::string name;               ///< "conformance/matmul"
  std::vector<std::byte> program; ///< serialised rt::Program
  std::vector<DeviceCode> code;
  std::vector<Case> cases;
};

/// Errors name the file.
Status writePack(const std::string &path, const Pack &pack);
/// Checks magic, version (the error names both) and checksum, then every length.
StatusOr<Pack> readPack(const std::string &path);

} // namespace sinter::gpucheck
