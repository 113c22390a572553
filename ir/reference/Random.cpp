#include "sinter/ir/Dialect.h"
#include "sinter/ir/Philox.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace sinter::ir;

using Operands = ArrayRef<const ReferenceTensor *>;
using Results = MutableArrayRef<ReferenceTensor>;

/// Calls `body` with each element's position and random words. `state` is [seed, step].
template <class Body>
static LogicalResult forEachDraw(Operation *op, const ReferenceTensor &state, int64_t id,
                                 int64_t count, Body body) {
  if (state.size() != 2)
    return op->emitOpError() << "state must hold [seed, step], it is " << state.typeName();
  for (int64_t i = 0; i < count; ++i)
    body(i, philox::elementWords(state.at(0).integer, state.at(1).integer, id, i));
  return success();
}

LogicalResult RandomUniformOp::evaluate(Operands in, Results out) {
  return forEachDraw(
      *this, *in[0], int64_t(getId()), out[0].size(),
      [&](int64_t i, philox::Block words) { out[0].set(i, philox::uniform(words[0])); });
}

LogicalResult RandomNormalOp::evaluate(Operands in, Results out) {
  return forEachDraw(
      *this, *in[0], int64_t(getId()), out[0].size(), [&](int64_t i, philox::Block words) {
        double u1 = (philox::bits24(words[0]) + 1) * 0x1p-24, u2 = philox::uniform(words[1]);
        out[0].set(i, std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2));
      });
}

LogicalResult RandomBernoulliOp::evaluate(Operands in, Results out) {
  return forEachDraw(*this, *in[0], int64_t(getId()), out[0].size(),
                     [&](int64_t i, philox::Block words) {
                       out[0].setInt(i, philox::bernoulli(words[0], d(getProbability())));
                     });
}

LogicalResult DropoutOp::evaluate(Operands in, Results out) {
  double probability = d(getProbability());
  return forEachDraw(
      *this, *in[1], int64_t(getId()), out[0].size(), [&](int64_t i, philox::Block words) {
        out[0].set(
            i, philox::bernoulli(words[0], probability) ? 0 : in[0]->real(i) / (1 - probability));
      });
}
