#include "Bounds.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using sinter::ir::ReferenceTensor;

namespace sinter::conformance {

static std::optional<Bound> parseBound(ArrayRef<StringRef> cells) {
  Bound bound;
  auto of = StringSwitch<std::optional<Bound::Of>>(cells[4].trim())
                .Case("result", Bound::Of::Result)
                .Case("terms", Bound::Of::Terms)
                .Case("tensor", Bound::Of::Tensor)
                .Case("one", Bound::Of::One)
                .Case("one in f32", Bound::Of::OneF32)
                .Default(std::nullopt);
  if (!of || cells[1].trim().getAsDouble(bound.roundings) ||
      cells[2].trim().getAsDouble(bound.ulps) || cells[3].trim().getAsDouble(bound.perTerm))
    return std::nullopt;
  bound.of = *of;
  return bound;
}

std::optional<std::map<std::string, Bound>> readBounds(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer) {
    errs() << path << ": " << buffer.getError().message() << "\n";
    return std::nullopt;
  }
  std::map<std::string, Bound> bounds;
  unsigned number = 0;
  for (StringRef line : split((*buffer)->getBuffer(), '\n')) {
    ++number;
    SmallVector<StringRef> cells;
    if (!line.consume_front("| `"))
      continue;
    line.split(cells, '|');
    auto bound = cells.size() == 6 ? parseBound(cells) : std::nullopt;
    if (!bound) {
      errs() << path << ':' << number
             << ": expected | `op` … | roundings | ulps | per term | result, terms, tensor, one or "
                "one in f32 |\n";
      return std::nullopt;
    }
    for (StringRef op : split(cells[0], ' '))
      if (op = op.trim("`, "); !op.empty())
        bounds[op.str()] = *bound;
  }
  return bounds;
}

struct Precision {
  double stored, computed, tiny; ///< distance from 1 to the next number; the least number
};

static Precision precisionOf(mlir::Type type) {
  if (type.isF64())
    return {0x1p-52, 0x1p-52, 0x1p-1074};
  if (type.isF16())
    return {0x1p-10, 0x1p-23, 0x1p-24};
  if (type.isBF16())
    return {0x1p-7, 0x1p-23, 0x1p-133};
  return {0x1p-23, 0x1p-23, 0x1p-149};
}

double roundingUnit(mlir::Type type) { return precisionOf(type).stored; }

static double largestFinite(const ReferenceTensor &tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (double value = std::abs(tensor.real(i)); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

static std::string difference(const ReferenceTensor &expected, const ReferenceTensor &actual,
                              int64_t at, double allowed) {
  std::string text;
  raw_string_ostream stream(text);
  stream << "element " << at << " of " << expected.typeName() << ": expected "
         << format("%.9g", expected.real(at)) << ", got " << format("%.9g", actual.real(at));
  if (allowed > 0)
    stream << ", " << format("%.3g", std::abs(expected.real(at) - actual.real(at)) / allowed)
           << " times what is allowed";
  return text;
}

static std::string compareEach(const ReferenceTensor &expected, const ReferenceTensor &actual,
                               function_ref<double(int64_t)> allowed) {
  if (expected.dims() != actual.dims() || expected.element() != actual.element())
    return "expected " + expected.typeName() + ", got " + actual.typeName();
  int64_t worst = -1;
  double worstRatio = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    if (!expected.isFloat()) {
      if (expected.at(i).integer != actual.at(i).integer)
        return difference(expected, actual, i, 0);
      continue;
    }
    double e = expected.real(i), a = actual.real(i);
    if (e == a || (std::isnan(e) && std::isnan(a)))
      continue;
    double ratio = std::isfinite(e) && std::isfinite(a) ? std::abs(e - a) / allowed(i) : INFINITY;
    if (ratio > worstRatio) {
      worst = i;
      worstRatio = ratio;
    }
  }
  return worstRatio > 1
             ? difference(expected, actual, worst, std::isfinite(worstRatio) ? allowed(worst) : 0)
             : "";
}

Allowance allowanceOf(const ReferenceTensor &expected, const Bound &bound, int64_t terms,
                      const ReferenceTensor *scale) {
  Precision p = precisionOf(expected.element());
  if (bound.of == Bound::Of::OneF32)
    p.computed = 0x1p-23;
  Allowance allowance;
  allowance.relative =
      p.stored * bound.roundings + p.computed * (bound.ulps + bound.perTerm * double(terms));
  allowance.absolute = p.tiny;
  if (bound.of == Bound::Of::Tensor && expected.isFloat())
    allowance.floor = largestFinite(expected);
  if (bound.of == Bound::Of::One || bound.of == Bound::Of::OneF32)
    allowance.floor = 1;
  if (bound.of == Bound::Of::Terms && scale)
    allowance.scale = *scale;
  return allowance;
}

std::string compare(const ReferenceTensor &expected, const ReferenceTensor &actual,
                    const Allowance &allowance) {
  return compareEach(expected, actual, [&](int64_t i) {
    double magnitude = std::max(std::abs(expected.real(i)), allowance.floor);
    if (allowance.scale)
      magnitude = std::max(magnitude, allowance.scale->real(i));
    return allowance.relative * magnitude + allowance.absolute;
  });
}

std::string compareLoosely(const ReferenceTensor &expected, const ReferenceTensor &actual,
                           double tolerance) {
  double allowed = tolerance * std::max(1.0, expected.isFloat() ? largestFinite(expected) : 0);
  return compareEach(expected, actual, [&](int64_t) { return allowed; });
}

} // namespace sinter::conformance
