// Elementwise ops that the TableGen families don't cover, creation, and movement of data.
#include "sinter/ir/Dialect.h"

using namespace mlir;
using namespace sinter::ir;

using Operands = ArrayRef<const ReferenceTensor *>;
using Results = MutableArrayRef<ReferenceTensor>;

static LogicalResult copyAll(const ReferenceTensor &x, ReferenceTensor &y) {
  for (int64_t i = 0; i < y.size(); ++i)
    y.set(i, x.at(i));
  return success();
}

LogicalResult WhereOp::evaluate(Operands in, Results out) {
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].set(i, select(in[0]->at(i), in[1]->at(i), in[2]->at(i)));
  return success();
}

LogicalResult CastOp::evaluate(Operands in, Results out) { return copyAll(*in[0], out[0]); }
LogicalResult StopGradientOp::evaluate(Operands in, Results out) { return copyAll(*in[0], out[0]); }

LogicalResult FullOp::evaluate(Operands, Results out) {
  auto integer = dyn_cast<IntegerAttr>(getValueAttr());
  auto real = dyn_cast<FloatAttr>(getValueAttr());
  if (!integer && !real)
    return emitOpError() << "value " << getValueAttr() << " is neither an integer nor a float";
  Number value{false, 0, 0};
  if (real) {
    value.real = real.getValueAsDouble();
  } else {
    bool isUnsigned = integer.getType().isUnsignedInteger() || integer.getType().isInteger(1);
    APInt bits = integer.getValue();
    value = {true, 0, isUnsigned ? int64_t(bits.getZExtValue()) : bits.getSExtValue()};
  }
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].set(i, value);
  return success();
}

LogicalResult ConstantOp::evaluate(Operands, Results out) {
  auto value = ReferenceTensor::fromElements(getValue());
  if (!value)
    return emitOpError(
        "holds values of a kind that can't be read here; dense<...> and dense_resource<...> can");
  return copyAll(*value, out[0]);
}

LogicalResult ArangeOp::evaluate(Operands, Results out) {
  double start = d(getStart()), step = d(getStep());
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].set(i, start + double(i) * step);
  return success();
}

LogicalResult ExpandOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &x = *in[0];
  ReferenceTensor &y = out[0];
  int64_t added = y.rank() - x.rank();
  for (int64_t i = 0; i < x.rank(); ++i)
    if (x.dim(i) != 1 && x.dim(i) != y.dim(i + added))
      return emitOpError() << "can't repeat " << x.typeName() << " to " << y.typeName();
  int64_t position = 0;
  SmallVector<int64_t> from(x.rank());
  y.forEach([&](ArrayRef<int64_t> to) {
    for (int64_t i = 0; i < x.rank(); ++i)
      from[i] = x.dim(i) == 1 ? 0 : to[i + added];
    y.set(position++, x.at(from));
  });
  return success();
}

LogicalResult ReshapeOp::evaluate(Operands in, Results out) {
  if (in[0]->size() != out[0].size())
    return emitOpError() << "can't see " << in[0]->typeName() << " as " << out[0].typeName()
                         << ": the numbers of elements differ";
  return copyAll(*in[0], out[0]);
}

LogicalResult TransposeOp::evaluate(Operands in, Results out) {
  SmallVector<int64_t> from(in[0]->rank());
  int64_t position = 0;
  out[0].forEach([&](ArrayRef<int64_t> to) {
    for (auto [i, source] : llvm::enumerate(getPermutation()))
      from[source] = to[i];
    out[0].set(position++, in[0]->at(from));
  });
  return success();
}

LogicalResult SliceOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &x = *in[0];
  for (int64_t i = 0; i < x.rank(); ++i) {
    int64_t first = getStarts()[i], last = first + (out[0].dim(i) - 1) * getStrides()[i];
    if (out[0].size() > 0 && (std::min(first, last) < 0 || std::max(first, last) >= x.dim(i)))
      return emitOpError() << "reads positions " << first << " to " << last << " of dimension " << i
                           << " of " << x.typeName();
  }
  SmallVector<int64_t> from(x.rank());
  int64_t position = 0;
  out[0].forEach([&](ArrayRef<int64_t> to) {
    for (int64_t i = 0; i < x.rank(); ++i)
      from[i] = getStarts()[i] + to[i] * getStrides()[i];
    out[0].set(position++, x.at(from));
  });
  return success();
}

LogicalResult PadOp::evaluate(Operands in, Results out) {
  const ReferenceTensor &x = *in[0];
  SmallVector<int64_t> from(x.rank());
  int64_t position = 0;
  out[0].forEach([&](ArrayRef<int64_t> to) {
    bool isElement = true;
    for (int64_t i = 0; i < x.rank(); ++i) {
      int64_t offset = to[i] - getLow()[i], spacing = getInterior()[i] + 1;
      from[i] = offset / spacing;
      isElement &= offset >= 0 && offset % spacing == 0 && from[i] < x.dim(i);
    }
    out[0].set(position++, isElement ? x.at(from) : Number{false, d(getValue()), 0});
  });
  return success();
}

LogicalResult ConcatOp::evaluate(Operands in, Results out) {
  int64_t dim = int64_t(getDim()), begin = 0;
  SmallVector<int64_t> to;
  for (const ReferenceTensor *x : in) {
    int64_t position = 0;
    x->forEach([&](ArrayRef<int64_t> from) {
      to.assign(from.begin(), from.end());
      to[dim] += begin;
      out[0].set(out[0].linear(to), x->at(position++));
    });
    begin += x->dim(dim);
  }
  return success();
}
