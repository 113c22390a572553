// Contractions as matrix products: sizes, index maps, and the vendor library's description.
#include "sinter/ir/Dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace sinter::ir {

namespace {

/// rt::LibraryOp's values, which the ir library doesn't see.
enum LibraryOp : int64_t { kMatmul, kConv2d, kConv2dInputGrad, kConv2dWeightGrad };

SmallVector<Value> split(ElementSource &source, Value linear, ArrayRef<AffineExpr> sizes) {
  SmallVector<Value> result(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (isOne(sizes[i])) {
      result[i] = source.index(0);
      continue;
    }
    Value size = source.dim(sizes[i]);
    bool outermost = llvm::all_of(sizes.take_front(i), isOne);
    result[i] =
        outermost ? linear : Value(arith::RemUIOp::create(source.b, source.loc, linear, size));
    if (!outermost)
      linear = arith::DivUIOp::create(source.b, source.loc, linear, size);
  }
  return result;
}

SmallVector<Index> scalars(ArrayRef<Value> values) {
  SmallVector<Index> result;
  for (Value value : values)
    result.push_back({value, 0});
  return result;
}

} // namespace

//===-- matmul --------------------------------------------------------------------------------===//

ContractionSizes MatmulOp::contractionSizes() {
  Dims a = dimsOf(getA()), y = dimsOf(getY());
  size_t rank = y.size();
  return {product(ArrayRef<AffineExpr>(y).drop_back(2), getContext()), y[rank - 2], y[rank - 1],
          a[rank - (getTransposeA() ? 2 : 1)]};
}
Value MatmulOp::emitFactor(unsigned operand, Value batch, Value row, Value column,
                           ElementSource &source) {
  Dims dims = dimsOf(operand == 0 ? getA() : getB());
  SmallVector<Value> at = split(source, batch, ArrayRef<AffineExpr>(dims).drop_back(2));
  bool transposed = operand == 0 ? getTransposeA() : getTransposeB();
  at.append({transposed ? column : row, transposed ? row : column});
  return source.element(operand, scalars(at));
}
SmallVector<Value> MatmulOp::resultIndices(Value batch, Value row, Value column,
                                           ElementSource &source) {
  Dims dims = dimsOf(getY());
  SmallVector<Value> at = split(source, batch, ArrayRef<AffineExpr>(dims).drop_back(2));
  at.append({row, column});
  return at;
}
int64_t MatmulOp::libraryCall(SmallVector<int64_t> &ints) {
  ints = {getTransposeA(), getTransposeB(), tensorTypeOf(getY()).getRank() - 2};
  return kMatmul;
}

//===-- convolution ---------------------------------------------------------------------------===//

namespace {

/// The sizes and attributes the three convolution ops share; x is the input, y the output of the
/// forward convolution.
template <class Op> struct Convolution {
  Op op;
  Dims x, w, y;
  ArrayRef<int64_t> stride = op.getStride(), padding = op.getPadding(), dilation = op.getDilation();
  int64_t groups = int64_t(op.getGroups());
  bool last = op.getChannelsLast();
  size_t channel = last ? 3 : 1, row = last ? 1 : 2;

  AffineExpr perGroup(AffineExpr channels) const { return simplify(channels.floorDiv(groups)); }
  /// Index of an image: batch, channel, row, column in the op's layout.
  SmallVector<Value> image(Value n, Value c, Value i, Value j) const {
    return last ? SmallVector<Value>{n, i, j, c} : SmallVector<Value>{n, c, i, j};
  }
  /// Channel `c` of group `g` of `channels` in all.
  Value channelOf(ElementSource &s, Value g, Value c, AffineExpr channels) const {
    return s.add(s.mul(g, s.dim(perGroup(channels))), c);
  }
  AffineExpr pixels(const Dims &image) const {
    return simplify(image[0] * image[row] * image[row + 1]);
  }
  /// (batch, row, column) of a pixel number.
  SmallVector<Value> pixel(ElementSource &s, Value linear, const Dims &image) const {
    return split(s, linear, {image[0], image[row], image[row + 1]});
  }
  /// (channel, i, j) of a position in a filter with `channels`; channels run fastest when they do
  /// in memory.
  SmallVector<Value> tap(ElementSource &s, Value linear, AffineExpr channels) const {
    if (!last)
      return split(s, linear, {channels, w[2], w[3]});
    SmallVector<Value> parts = split(s, linear, {w[2], w[3], channels});
    return {parts[2], parts[0], parts[1]};
  }
  AffineExpr taps(AffineExpr channels) const { return simplify(channels * w[2] * w[3]); }

  /// The element of operand `operand` at `at` if `condition`, else 0.
  Value readIf(ElementSource &s, unsigned operand, Value condition, ArrayRef<Value> at) const {
    Type type = computeType(elementType(op->getOperand(operand)));
    if (!condition)
      return s.element(operand, scalars(at));
    auto branch = scf::IfOp::create(s.b, s.loc, TypeRange{type}, condition, true);
    OpBuilder::InsertionGuard guard(s.b);
    s.b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(s.b, s.loc, s.element(operand, scalars(at)));
    s.b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(s.b, s.loc, s.number(0, type));
    return branch.getResult(0);
  }
  Value both(ElementSource &s, Value a, Value b) const {
    return a ? Value(arith::AndIOp::create(s.b, s.loc, a, b)) : b;
  }

  /// x at the pixel that tap (i, j) of output pixel (n, r, c) reads.
  Value readInput(ElementSource &s, unsigned operand, ArrayRef<Value> out, Value channel, Value i,
                  Value j) const {
    Value position[2], condition, tapIndex[2] = {i, j};
    for (int axis : {0, 1}) {
      position[axis] = s.add(s.add(s.mul(out[axis + 1], s.index(stride[axis])),
                                   s.mul(tapIndex[axis], s.index(dilation[axis]))),
                             s.index(-padding[axis]));
      if (padding[axis] || padding[axis + 2])
        condition = both(s, condition, s.inRange(position[axis], s.dim(x[row + axis])));
    }
    return readIf(s, operand, condition, image(out[0], channel, position[0], position[1]));
  }
  /// dy at the output pixel whose tap (i, j) reads input pixel (n, r, c), 0 where there is none.
  Value readOutput(ElementSource &s, unsigned operand, ArrayRef<Value> in, Value channel, Value i,
                   Value j) const {
    Value position[2], condition, tapIndex[2] = {i, j};
    for (int axis : {0, 1}) {
      Value shifted = s.add(in[axis + 1], s.index(padding[axis]));
      shifted = arith::SubIOp::create(s.b, s.loc, shifted,
                                      s.mul(tapIndex[axis], s.index(dilation[axis])));
      position[axis] = shifted;
      if (stride[axis] != 1) {
        Value divisor = s.index(stride[axis]);
        Value rest = arith::RemSIOp::create(s.b, s.loc, shifted, divisor);
        condition =
            both(s, condition,
                 arith::CmpIOp::create(s.b, s.loc, arith::CmpIPredicate::eq, rest, s.index(0)));
        position[axis] = arith::FloorDivSIOp::create(s.b, s.loc, shifted, divisor);
      }
      condition = both(s, condition, s.inRange(position[axis], s.dim(y[row + axis])));
    }
    return readIf(s, operand, condition, image(in[0], channel, position[0], position[1]));
  }
  int64_t library(int64_t kind, SmallVector<int64_t> &ints) const {
    ints = {stride[0],  stride[1],   padding[0],  padding[1], padding[2],
            padding[3], dilation[0], dilation[1], groups,     last};
    return kind;
  }
};

Convolution<Conv2dOp> convolution(Conv2dOp op) {
  return {op, dimsOf(op.getX()), dimsOf(op.getWeight()), dimsOf(op.getY())};
}
Convolution<Conv2dInputGradOp> convolution(Conv2dInputGradOp op) {
  return {op, dimsOf(op.getY()), dimsOf(op.getWeight()), dimsOf(op.getDy())};
}
Convolution<Conv2dWeightGradOp> convolution(Conv2dWeightGradOp op) {
  return {op, dimsOf(op.getX()), dimsOf(op.getY()), dimsOf(op.getDy())};
}

} // namespace

// y[pixel, out] = sum over taps of x[pixel at tap] w[out, tap], a batch of groups.
ContractionSizes Conv2dOp::contractionSizes() {
  auto c = convolution(*this);
  return {constantDim(c.groups, getContext()), c.pixels(c.y), c.perGroup(c.w[0]), c.taps(c.w[1])};
}
Value Conv2dOp::emitFactor(unsigned operand, Value group, Value row, Value column,
                           ElementSource &s) {
  auto c = convolution(*this);
  if (operand == 0) {
    SmallVector<Value> tap = c.tap(s, column, c.w[1]);
    return c.readInput(s, 0, c.pixel(s, row, c.y), c.channelOf(s, group, tap[0], c.x[c.channel]),
                       tap[1], tap[2]);
  }
  SmallVector<Value> tap = c.tap(s, row, c.w[1]);
  return s.element(1, scalars({c.channelOf(s, group, column, c.w[0]), tap[0], tap[1], tap[2]}));
}
SmallVector<Value> Conv2dOp::resultIndices(Value group, Value row, Value column, ElementSource &s) {
  auto c = convolution(*this);
  SmallVector<Value> pixel = c.pixel(s, row, c.y);
  return c.image(pixel[0], c.channelOf(s, group, column, c.w[0]), pixel[1], pixel[2]);
}
int64_t Conv2dOp::libraryCall(SmallVector<int64_t> &ints) {
  return convolution(*this).library(kConv2d, ints);
}

// dx[pixel, in] = sum over taps and outputs of dy[pixel at tap, out] w[out, in, tap].
ContractionSizes Conv2dInputGradOp::contractionSizes() {
  auto c = convolution(*this);
  return {constantDim(c.groups, getContext()), c.pixels(c.x), c.w[1], c.taps(c.perGroup(c.w[0]))};
}
Value Conv2dInputGradOp::emitFactor(unsigned operand, Value group, Value row, Value column,
                                    ElementSource &s) {
  auto c = convolution(*this);
  SmallVector<Value> tap = c.tap(s, operand == 0 ? column : row, c.perGroup(c.w[0]));
  Value out = c.channelOf(s, group, tap[0], c.w[0]);
  if (operand == 0)
    return c.readOutput(s, 0, c.pixel(s, row, c.x), out, tap[1], tap[2]);
  return s.element(1, scalars({out, column, tap[1], tap[2]}));
}
SmallVector<Value> Conv2dInputGradOp::resultIndices(Value group, Value row, Value column,
                                                    ElementSource &s) {
  auto c = convolution(*this);
  SmallVector<Value> pixel = c.pixel(s, row, c.x);
  return c.image(pixel[0], c.channelOf(s, group, column, c.x[c.channel]), pixel[1], pixel[2]);
}
int64_t Conv2dInputGradOp::libraryCall(SmallVector<int64_t> &ints) {
  return convolution(*this).library(kConv2dInputGrad, ints);
}

// dw[out, tap] = sum over pixels of dy[pixel, out] x[pixel at tap].
ContractionSizes Conv2dWeightGradOp::contractionSizes() {
  auto c = convolution(*this);
  return {constantDim(c.groups, getContext()), c.perGroup(c.w[0]), c.taps(c.w[1]), c.pixels(c.y)};
}
Value Conv2dWeightGradOp::emitFactor(unsigned operand, Value group, Value row, Value column,
                                     ElementSource &s) {
  auto c = convolution(*this);
  if (operand == 0) { // dy is operand 1 of the op, the left factor of the product
    SmallVector<Value> pixel = c.pixel(s, column, c.y);
    return s.element(
        1, scalars(c.image(pixel[0], c.channelOf(s, group, row, c.w[0]), pixel[1], pixel[2])));
  }
  SmallVector<Value> tap = c.tap(s, column, c.w[1]);
  return c.readInput(s, 0, c.pixel(s, row, c.y), c.channelOf(s, group, tap[0], c.x[c.channel]),
                     tap[1], tap[2]);
}
SmallVector<Value> Conv2dWeightGradOp::resultIndices(Value group, Value row, Value column,
                                                     ElementSource &s) {
  auto c = convolution(*this);
  SmallVector<Value> tap = c.tap(s, column, c.w[1]);
  return {c.channelOf(s, group, row, c.w[0]), tap[0], tap[1], tap[2]};
}
int64_t Conv2dWeightGradOp::libraryCall(SmallVector<int64_t> &ints) {
  return convolution(*this).library(kConv2dWeightGrad, ints);
}

} // namespace sinter::ir
