#include "sinter/ops/shape.h"

#include "tracing/Call.h"

namespace sinter {
using detail::axisOf;
using detail::Call;
using ir::Dims;
using mlir::Value;

namespace {

/// Positions, as i64 or i32.
Value indices(Call &call, const Operand &operand) {
  Value value = call.value(operand);
  mlir::Type element = ir::elementType(value);
  if (mlir::isa<mlir::FloatType>(element) || element.isInteger(1))
    call.fail("the index is " + call.type(value) + ", not integers: cast it", {value});
  return element.isInteger(64) || element.isInteger(32) ? value : call.cast(value, i64);
}

} // namespace

Tensor embedding(const Operand &weight, const Operand &index) {
  Call call("embedding", {&weight, &index});
  return call.done(call.emit("embedding", {call.value(weight), indices(call, index)}));
}

Tensor gather(const Operand &x, int64_t axis, const Operand &index) {
  Call call("gather", {&x, &index});
  Value value = call.value(x);
  axis = axisOf(axis, int64_t(ir::dimsOf(value).size()), "gather", call.at);
  return call.done(call.emit("gather", {value, indices(call, index)}, {{"dim", axis}}));
}

Tensor scatter_add(const Operand &x, int64_t axis, const Operand &index, const Operand &source) {
  Call call("scatter_add", {&x, &index, &source});
  Value value = call.value(x);
  axis = axisOf(axis, int64_t(ir::dimsOf(value).size()), "scatter_add", call.at);
  Value added = call.cast(call.value(source), ir::elementType(value));
  return call.done(call.emit("scatter_add", {value, indices(call, index), added}, {{"dim", axis}}));
}

Tensor index_select(const Operand &x, int64_t axis, const Operand &index) {
  Call call("index_select", {&x, &index});
  Value value = call.value(x), positions = indices(call, index);
  Dims dims = ir::dimsOf(value);
  axis = axisOf(axis, int64_t(dims.size()), "index_select", call.at);
  if (ir::dimsOf(positions).size() != 1)
    call.fail("the index is " + call.type(positions) + ", not a list", {value, positions});
  // As rows of a matrix: the axis first, what is left flat behind it.
  std::vector<int64_t> front{axis}, back;
  for (int64_t i = 0; i < int64_t(dims.size()); ++i) {
    back.push_back(i < axis ? i + 1 : i == axis ? 0 : i);
    if (i != axis)
      front.push_back(i);
  }
  Value rows = call.permute(value, front);
  Dims moved = ir::dimsOf(rows);
  mlir::MLIRContext *context = &call.trace->session->context;
  rows = call.reshape(rows, {moved[0], ir::product(llvm::ArrayRef(moved).drop_front(), context)});
  Value chosen = call.emit("embedding", {rows, positions});
  moved[0] = ir::dimsOf(positions)[0];
  return call.done(call.permute(call.reshape(chosen, moved), back));
}

Tensor one_hot(const Operand &index, int64_t classes, DType dtype) {
  Call call("one_hot", {&index});
  Value positions = indices(call, index);
  if (classes < 1)
    call.fail(detail::text("the number of classes is ", classes));
  bool asBool = dtype == boolean;
  Value hot =
      call.emit("one_hot", positions, {{"classes", classes}, {"type", asBool ? u8 : dtype}});
  return call.done(call.cast(hot, dtype));
}

} // namespace sinter
