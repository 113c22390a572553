// How far compiled code may be from the interpreter, read from bounds.md.
#pragma once

#include "sinter/ir/Reference.h"

#include <map>
#include <optional>
#include <string>

namespace sinter::conformance {

/// |compiled - reference| <= M * (eps(stored) * roundings + eps(computed) * (ulps + perTerm *
/// terms)) + tiny, see bounds.md.
struct Bound {
  enum class Of { Result, Terms, Tensor, One, OneF32 };
  double roundings = 1, ulps = 0, perTerm = 0;
  Of of = Of::Result; ///< what M is
};

/// By mnemonic; nothing (and a message on stderr) if the table is not well formed.
std::optional<std::map<std::string, Bound>> readBounds(const std::string &path);

/// Distance from 1 to the next number of a float type.
double roundingUnit(mlir::Type type);

/// What a bound comes to for one tensor: |actual - expected| <= relative * max(|expected|, floor,
/// scale) + absolute.
struct Allowance {
  double relative = 0, floor = 0, absolute = 0;
  std::optional<ir::ReferenceTensor> scale = {};
};
/// `scale`: the op on absolute values, for Bound::Of::Terms.
Allowance allowanceOf(const ir::ReferenceTensor &expected, const Bound &bound, int64_t terms,
                      const ir::ReferenceTensor *scale = nullptr);

/// "" if `actual` is within the allowance everywhere, else what is wrong and where.
std::string compare(const ir::ReferenceTensor &expected, const ir::ReferenceTensor &actual,
                    const Allowance &allowance);
/// The same with an allowance relative to the tensor's largest value.
std::string compareLoosely(const ir::ReferenceTensor &expected, const ir::ReferenceTensor &actual,
                           double tolerance);

} // namespace sinter::conformance
