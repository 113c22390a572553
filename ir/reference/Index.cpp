#include "sinter/ir/Dialect.h"

using namespace mlir;
using namespace sinter::ir;

using Operands = ArrayRef<const ReferenceTensor *>;
using Results = MutableArrayRef<ReferenceTensor>;

static bool inRange(int64_t index, int64_t size) { return index >= 0 && index < size; }

static LogicalResult store(ArrayRef<Number> values, ReferenceTensor &y) {
  for (int64_t i = 0; i < y.size(); ++i)
    y.set(i, values[i]);
  return success();
}

LogicalResult EmbeddingOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &weight = *in[0], &index = *in[1];
  int64_t rows = weight.dim(0), width = weight.dim(1);
  for (int64_t i = 0; i < out[0].size(); ++i)
    if (int64_t row = index.at(i / width).integer; inRange(row, rows))
      out[0].set(i, weight.at(row * width + i % width));
  return success();
}

LogicalResult EmbeddingGradOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &dy = *in[0], &index = *in[1];
  int64_t rows = out[0].dim(0), width = out[0].dim(1);
  std::vector<Number> sums(out[0].size(), Number{!out[0].isFloat(), 0, 0});
  for (int64_t i = 0; i < dy.size(); ++i)
    if (int64_t row = index.at(i / width).integer; inRange(row, rows)) {
      Number &sum = sums[row * width + i % width];
      sum = sum + dy.at(i);
    }
  return store(sums, out[0]);
}

LogicalResult GatherOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &x = *in[0], &index = *in[1];
  int64_t dim = int64_t(getDim()), position = 0;
  SmallVector<int64_t> from;
  index.forEach([&](ArrayRef<int64_t> at) {
    from.assign(at.begin(), at.end());
    from[dim] = index.at(position).integer;
    if (inRange(from[dim], x.dim(dim)))
      out[0].set(position, x.at(from));
    ++position;
  });
  return success();
}

LogicalResult ScatterAddOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &x = *in[0], &index = *in[1], &src = *in[2];
  int64_t dim = int64_t(getDim()), position = 0;
  std::vector<Number> sums;
  for (int64_t i = 0; i < x.size(); ++i)
    sums.push_back(x.at(i));
  SmallVector<int64_t> to;
  index.forEach([&](ArrayRef<int64_t> at) {
    to.assign(at.begin(), at.end());
    to[dim] = index.at(position++).integer;
    if (!inRange(to[dim], x.dim(dim)))
      return;
    Number &sum = sums[x.linear(to)];
    sum = sum + src.at(at);
  });
  return store(sums, out[0]);
}

LogicalResult OneHotOp::evaluate(Operands in, Results out) {
  int64_t classes = int64_t(getClasses());
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].setInt(i, in[0]->at(i / classes).integer == i % classes);
  return success();
}
