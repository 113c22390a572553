// Philox4x32-10 as arith ops; the scheme (key, counter, which word becomes what) is the one in
// sinter/ir/Philox.h.
#include "sinter/ir/Dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace sinter::ir {
namespace {

/// 32-bit words held in i64 lanes: vpmuludq multiplies 32 x 32 -> 64, which is all Philox needs.
struct Philox {
  ElementSource &source;
  Type wide = source.laneType(source.b.getI64Type());

  Value constant(uint64_t value) {
    Attribute attribute = source.b.getI64IntegerAttr(int64_t(value));
    if (auto vector = dyn_cast<VectorType>(wide))
      attribute = DenseElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(source.b, source.loc, cast<TypedAttr>(attribute));
  }
  template <class Op> Value op(Value a, Value b) { return Op::create(source.b, source.loc, a, b); }
  Value low(Value x) { return op<arith::AndIOp>(x, constant(0xFFFFFFFFu)); }
  Value high(Value x) { return op<arith::ShRUIOp>(x, constant(32)); }

  /// The first two words of the block with counter (element, step, id) under key `seed`.
  std::pair<Value, Value> words(Value element, Value seed, Value step, int64_t id) {
    Value c0 = low(element), c1 = high(element), c2 = low(step), c3 = constant(uint32_t(id));
    Value k0 = low(seed), k1 = high(seed);
    for (int round = 0; round < 10; ++round) {
      if (round > 0) {
        k0 = low(op<arith::AddIOp>(k0, constant(0x9E3779B9u)));
        k1 = low(op<arith::AddIOp>(k1, constant(0xBB67AE85u)));
      }
      Value p0 = op<arith::MulIOp>(c0, constant(0xD2511F53u)),
            p1 = op<arith::MulIOp>(c2, constant(0xCD9E8D57u));
      Value n0 = op<arith::XOrIOp>(op<arith::XOrIOp>(high(p1), c1), k0);
      Value n2 = op<arith::XOrIOp>(op<arith::XOrIOp>(high(p0), c3), k1);
      c1 = low(p1), c3 = low(p0), c0 = n0, c2 = n2;
    }
    return {c0, c1};
  }
};

/// Uniform multiples of 2^-24 from a word: in [0, 1), or with `shifted` in (0, 1].
Value uniform(Philox &philox, Value word, bool shifted) {
  ElementSource &source = philox.source;
  Value bits = philox.op<arith::ShRUIOp>(word, philox.constant(8));
  if (shifted)
    bits = philox.op<arith::AddIOp>(bits, philox.constant(1));
  Value narrow =
      arith::TruncIOp::create(source.b, source.loc, source.laneType(source.b.getI32Type()), bits);
  Value real =
      arith::SIToFPOp::create(source.b, source.loc, source.laneType(source.b.getF32Type()), narrow);
  return (ScalarExpr{source.b, source.loc, real} * 0x1p-24).value;
}

template <class Op>
std::pair<Value, Value> wordsOf(Op op, ArrayRef<Index> at, ElementSource &source, Philox &philox) {
  Value linear = source.index(0);
  int64_t step = 0;
  Dims dims = dimsOf(op.getY());
  for (auto [index, size] : llvm::zip(at, dims))
    linear = source.add(source.mul(linear, source.dim(size)), index.base);
  // Lanes run over the last dimension (laneDim), whose stride is 1.
  if (!at.empty())
    step = at.back().step;
  Value element = source.asInteger({linear, step});
  return philox.words(element, source.element(0, {source.at(0)}), source.element(0, {source.at(1)}),
                      int64_t(op.getId()));
}

Value toElement(ElementSource &source, Value real, Type element) {
  if (element.isF64())
    return arith::ExtFOp::create(source.b, source.loc, source.laneType(element), real);
  return real;
}

std::optional<int64_t> lastDim(Value result, int64_t dim) {
  if (dim >= 0 && dim != tensorTypeOf(result).getRank() - 1)
    return std::nullopt;
  return -1; // the state is the same for all
}

} // namespace

Value RandomUniformOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Philox philox{source};
  return toElement(source, uniform(philox, wordsOf(*this, at, source, philox).first, false),
                   elementType(getY()));
}
int64_t RandomUniformOp::elementCost() { return 80; }
std::optional<int64_t> RandomUniformOp::laneDim(unsigned, int64_t dim) {
  return lastDim(getY(), dim);
}

Value RandomNormalOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Philox philox{source};
  auto [first, second] = wordsOf(*this, at, source, philox);
  ScalarExpr u1{source.b, source.loc, uniform(philox, first, true)};
  ScalarExpr u2{source.b, source.loc, uniform(philox, second, false)};
  return toElement(source, (sqrt(-2.0 * log(u1)) * cos(6.283185307179586 * u2)).value,
                   elementType(getY()));
}
int64_t RandomNormalOp::elementCost() { return 130; }
std::optional<int64_t> RandomNormalOp::laneDim(unsigned, int64_t dim) {
  return lastDim(getY(), dim);
}

Value RandomBernoulliOp::emitElement(unsigned, ArrayRef<Index> at, ElementSource &source) {
  Philox philox{source};
  ScalarExpr u{source.b, source.loc,
               uniform(philox, wordsOf(*this, at, source, philox).first, false)};
  return (u < d(getProbability())).value;
}
int64_t RandomBernoulliOp::elementCost() { return 82; }
std::optional<int64_t> RandomBernoulliOp::laneDim(unsigned, int64_t dim) {
  return lastDim(getY(), dim);
}

} // namespace sinter::ir
