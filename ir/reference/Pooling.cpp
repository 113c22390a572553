#include "Images.h"
#include "sinter/ir/Dialect.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

using Operands = ArrayRef<const ReferenceTensor *>;
using Results = MutableArrayRef<ReferenceTensor>;

/// Calls `body(output position, tap, input position)` for every tap of every window that lies
/// inside the image `x`.
template <class Op, class Body>
static void forEachTap(Op op, const ReferenceTensor &x, const ReferenceTensor &y, Body body) {
  Images input(x, op.getChannelsLast()), output(y, op.getChannelsLast());
  Window window = Window::of(op, op.getKernel()[0], op.getKernel()[1]);
  forEachPixel(output, [&](int64_t n, int64_t c, int64_t row, int64_t column) {
    window.forEachTap(input, row, column, [&](int64_t tap, int64_t inputRow, int64_t inputColumn) {
      body(output.at(n, c, row, column), tap, input.at(n, c, inputRow, inputColumn));
    });
  });
}

/// Value and tap of the first largest element of each window; the first NaN is larger than
/// anything.
struct Largest {
  std::vector<double> value;
  std::vector<int64_t> tap;
  template <class Op>
  Largest(Op op, const ReferenceTensor &x, const ReferenceTensor &y)
      : value(y.size(), -INFINITY), tap(y.size(), 0) {
    std::vector<bool> found(y.size());
    forEachTap(op, x, y, [&](int64_t at, int64_t candidate, int64_t from) {
      double element = x.real(from);
      if (found[at] && (std::isnan(value[at]) || element <= value[at]))
        return;
      found[at] = true;
      value[at] = element;
      tap[at] = candidate;
    });
  }
};

LogicalResult MaxPool2dOp::evaluate(Operands in, Results out) {
  return store(Largest(*this, *in[0], out[0]).value, out[0]);
}

LogicalResult MaxPool2dIndexOp::evaluate(Operands in, Results out) {
  Largest largest(*this, *in[0], out[0]);
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].setInt(i, largest.tap[i]);
  return success();
}

LogicalResult PoolGatherOp::evaluate(Operands in, Results out) {
  forEachTap(*this, *in[0], out[0], [&](int64_t at, int64_t tap, int64_t from) {
    if (in[1]->at(at).integer == tap)
      out[0].set(at, in[0]->at(from));
  });
  return success();
}

LogicalResult PoolScatterOp::evaluate(Operands in, Results out) {
  std::vector<double> sums(out[0].size());
  forEachTap(*this, out[0], *in[0], [&](int64_t at, int64_t tap, int64_t to) {
    if (in[1]->at(at).integer == tap)
      sums[to] += in[0]->real(at);
  });
  return store(sums, out[0]);
}

LogicalResult AvgPool2dOp::evaluate(Operands in, Results out) {
  std::vector<double> sums(out[0].size());
  forEachTap(*this, *in[0], out[0],
             [&](int64_t at, int64_t, int64_t from) { sums[at] += in[0]->real(from); });
  for (double &sum : sums)
    sum /= double(getKernel()[0] * getKernel()[1]);
  return store(sums, out[0]);
}

LogicalResult AvgPool2dGradOp::evaluate(Operands in, Results out) {
  std::vector<double> sums(out[0].size());
  forEachTap(*this, out[0], *in[0], [&](int64_t at, int64_t, int64_t to) {
    sums[to] += in[0]->real(at) / double(getKernel()[0] * getKernel()[1]);
  });
  return store(sums, out[0]);
}
