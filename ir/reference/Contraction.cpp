#include "Images.h"
#include "sinter/ir/Dialect.h"

using namespace mlir;
using namespace sinter::ir;

using Operands = ArrayRef<const ReferenceTensor *>;
using Results = MutableArrayRef<ReferenceTensor>;

LogicalResult MatmulOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &a = *in[0], &b = *in[1];
  ReferenceTensor &y = out[0];
  int64_t m = y.dim(y.rank() - 2), n = y.dim(y.rank() - 1),
          k = a.dim(a.rank() - (getTransposeA() ? 2 : 1));
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t batch = i / (m * n), row = i / n % m, column = i % n;
    Number sum{!y.isFloat(), 0, 0};
    for (int64_t j = 0; j < k; ++j) {
      int64_t left = getTransposeA() ? j * m + row : row * k + j;
      int64_t right = getTransposeB() ? column * k + j : j * n + column;
      sum = sum + a.at(batch * m * k + left) * b.at(batch * k * n + right);
    }
    y.set(i, sum);
  }
  return success();
}

LogicalResult LinearOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &x = *in[0], &weight = *in[1];
  int64_t outputs = weight.dim(0), inputs = weight.dim(1);
  for (int64_t i = 0; i < out[0].size(); ++i) {
    int64_t row = i / outputs, column = i % outputs;
    double sum = getBias() ? in[2]->real(column) : 0;
    for (int64_t j = 0; j < inputs; ++j)
      sum += x.real(row * inputs + j) * weight.real(column * inputs + j);
    out[0].set(i, sum);
  }
  return success();
}

/// Calls `body` with the linear positions in x, weight and y of every product that y = conv2d(x,
/// weight) sums.
template <class Op, class Body>
static void forEachProduct(Op op, const ReferenceTensor &x, const ReferenceTensor &weight,
                           const ReferenceTensor &y, Body body) {
  Images input(x, op.getChannelsLast()), output(y, op.getChannelsLast());
  Window window = Window::of(op, weight.dim(2), weight.dim(3));
  int64_t taps = window.height * window.width, channels = weight.dim(1),
          outputsPerGroup = weight.dim(0) / int64_t(op.getGroups());
  forEachPixel(output, [&](int64_t n, int64_t o, int64_t row, int64_t column) {
    for (int64_t c = 0; c < channels; ++c)
      window.forEachTap(
          input, row, column, [&](int64_t tap, int64_t inputRow, int64_t inputColumn) {
            body(input.at(n, o / outputsPerGroup * channels + c, inputRow, inputColumn),
                 (o * channels + c) * taps + tap, output.at(n, o, row, column));
          });
  });
}

LogicalResult Conv2dOp::evaluate(Operands in, Results out) {
  std::vector<double> sums(out[0].size());
  forEachProduct(*this, *in[0], *in[1], out[0], [&](int64_t x, int64_t w, int64_t y) {
    sums[y] += in[0]->real(x) * in[1]->real(w);
  });
  return store(sums, out[0]);
}

LogicalResult Conv2dInputGradOp::evaluate(Operands in, Results out) {
  std::vector<double> sums(out[0].size());
  forEachProduct(*this, out[0], *in[1], *in[0], [&](int64_t x, int64_t w, int64_t y) {
    sums[x] += in[0]->real(y) * in[1]->real(w);
  });
  return store(sums, out[0]);
}

LogicalResult Conv2dWeightGradOp::evaluate(Operands in, Results out) {
  std::vector<double> sums(out[0].size());
  forEachProduct(*this, *in[0], out[0], *in[1], [&](int64_t x, int64_t w, int64_t y) {
    sums[w] += in[0]->real(x) * in[1]->real(y);
  });
  return store(sums, out[0]);
}
