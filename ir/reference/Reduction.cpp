#include "sinter/ir/Dialect.h"

#include <limits>

using namespace mlir;
using namespace sinter::ir;

using Operands = ArrayRef<const ReferenceTensor *>;
using Results = MutableArrayRef<ReferenceTensor>;

/// Calls `body` with each element of x, the linear index of its result and its position among the
/// reduced dimensions.
template <class Body>
static void forEachReduced(const ReferenceTensor &x, ArrayRef<int64_t> dims, Body body) {
  SmallVector<int64_t> keptSizes(x.dims()), reducedSizes(x.rank(), 1);
  for (int64_t dim : dims)
    std::swap(keptSizes[dim], reducedSizes[dim]);
  // An index counts in one of the two only.
  SmallVector<int64_t> kept = rowMajorStrides(keptSizes), reduced = rowMajorStrides(reducedSizes);
  for (int64_t dim = 0; dim < x.rank(); ++dim)
    (llvm::is_contained(dims, dim) ? kept : reduced)[dim] = 0;
  int64_t i = 0;
  x.forEach([&](ArrayRef<int64_t> index) {
    int64_t result = 0, position = 0;
    for (auto [at, keptStride, reducedStride] : llvm::zip_equal(index, kept, reduced)) {
      result += at * keptStride;
      position += at * reducedStride;
    }
    body(x.at(i++), result, position);
  });
}

template <class Combine>
static LogicalResult fold(const ReferenceTensor &x, ArrayRef<int64_t> dims, ReferenceTensor &y,
                          Number initial, Combine combine) {
  std::vector<Number> state(y.size(), initial);
  forEachReduced(x, dims, [&](Number element, int64_t result, int64_t) {
    state[result] = combine(state[result], element);
  });
  for (int64_t i = 0; i < y.size(); ++i)
    y.set(i, state[i]);
  return success();
}

/// The least (`sign` -1) or largest (1) value of the type, infinite for floats.
static Number extreme(Type element, int sign) {
  if (isa<FloatType>(element))
    return {false, sign * std::numeric_limits<double>::infinity(), 0};
  auto [least, largest] = integerRange(element);
  return {true, 0, sign < 0 ? least : largest};
}

template <class Better>
static LogicalResult findFirst(const ReferenceTensor &x, ArrayRef<int64_t> dims, ReferenceTensor &y,
                               Better better) {
  struct Best {
    bool found = false;
    Number value;
    int64_t position = 0;
  };
  std::vector<Best> best(y.size());
  forEachReduced(x, dims, [&](Number element, int64_t result, int64_t position) {
    Best &b = best[result];
    bool isNaN = ne(element, element).integer, wasNaN = b.found && ne(b.value, b.value).integer;
    if (!b.found || (!wasNaN && (isNaN || better(element, b.value).integer)))
      b = {true, element, position};
  });
  for (int64_t i = 0; i < y.size(); ++i)
    y.setInt(i, best[i].position);
  return success();
}

LogicalResult SumOp::evaluate(Operands in, Results out) {
  return fold(*in[0], getDims(), out[0], {!in[0]->isFloat(), 0, 0},
              [](Number a, Number b) { return a + b; });
}

LogicalResult MeanOp::evaluate(Operands in, Results out) {
  int64_t count = 1;
  for (int64_t dim : getDims())
    count *= in[0]->dim(dim);
  std::vector<double> sums(out[0].size());
  forEachReduced(*in[0], getDims(),
                 [&](Number element, int64_t result, int64_t) { sums[result] += element.real; });
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].set(i, sums[i] / double(count));
  return success();
}

LogicalResult ProdOp::evaluate(Operands in, Results out) {
  return fold(*in[0], getDims(), out[0], {!in[0]->isFloat(), 1, 1},
              [](Number a, Number b) { return a * b; });
}

LogicalResult MaxOp::evaluate(Operands in, Results out) {
  return fold(*in[0], getDims(), out[0], extreme(in[0]->element(), -1),
              [](Number a, Number b) { return max(a, b); });
}

LogicalResult MinOp::evaluate(Operands in, Results out) {
  return fold(*in[0], getDims(), out[0], extreme(in[0]->element(), 1),
              [](Number a, Number b) { return min(a, b); });
}

LogicalResult ArgmaxOp::evaluate(Operands in, Results out) {
  return findFirst(*in[0], getDims(), out[0], [](Number a, Number b) { return a > b; });
}

LogicalResult ArgminOp::evaluate(Operands in, Results out) {
  return findFirst(*in[0], getDims(), out[0], [](Number a, Number b) { return a < b; });
}
