#include "sinter/ops/math.h"

#include "tracing/Call.h"

namespace sinter {
using detail::Call;
using detail::text;
using ir::Dims;
using mlir::AffineExpr;
using mlir::Value;

namespace {

/// Operands of a product in one float or integer type.
void matchTypes(Call &call, const Operand &a, Value &left, const Operand &b, Value &right) {
  mlir::Type type = call.commonType(a, b);
  if (type.isInteger(1))
    call.fail("bools have no products: cast them", {left, right});
  left = call.cast(left, type);
  right = call.cast(right, type);
}

std::vector<int64_t> four(Pair pair) { return {pair.height, pair.width, pair.height, pair.width}; }
std::vector<int64_t> two(Pair pair) { return {pair.height, pair.width}; }

/// Adds one value a channel (dimension 1).
Value withBias(Call &call, Value y, Value bias) {
  Dims dims = ir::dimsOf(y), own = ir::dimsOf(bias);
  if (own.size() != 1 || own[0] != dims[1])
    call.fail(text("the bias ", call.type(bias), " does not fit the channels of ", call.type(y)),
              {y, bias});
  Dims column(dims.size() - 1, call.number(1));
  column[0] = own[0];
  return call.emit("add", {y, call.broadcast(call.reshape(bias, column), dims)});
}

Value convolved(Call &call, const Operand &x, const Operand &weight, const ConvOptions &options) {
  Value image = call.floating(x), filter = call.cast(call.value(weight), ir::elementType(image));
  return call.emit("conv2d", {image, filter},
                   {{"stride", two(options.stride)},
                    {"padding", four(options.padding)},
                    {"dilation", two(options.dilation)},
                    {"groups", options.groups}});
}

Tensor pooled(const char *op, const Operand &x, PoolOptions options) {
  Call call(op, {&x});
  Value image = call.floating(x);
  if (!options.kernel.height || !options.kernel.width)
    call.fail("the option .kernel is not given; give the window's size, e.g. {.kernel = 2}",
              {image});
  if (!options.stride.height || !options.stride.width)
    options.stride = options.kernel;
  return call.done(call.emit(op, image,
                             {{"kernel", two(options.kernel)},
                              {"stride", two(options.stride)},
                              {"padding", four(options.padding)},
                              {"dilation", two(options.dilation)}}));
}

} // namespace

Tensor matmul(const Operand &a, const Operand &b) {
  Call call("matmul", {&a, &b});
  const Value left = call.value(a), right = call.value(b);
  Value x = left, y = right;
  matchTypes(call, a, x, b, y);
  Dims rows = ir::dimsOf(x), columns = ir::dimsOf(y);
  if (rows.empty() || columns.empty())
    call.fail(text("a scalar has no matrix product: ", call.type(x), " x ", call.type(y)),
              {left, right});
  // A vector is a row at the left and a column at the right; its dimension goes again below.
  bool isRow = rows.size() == 1, isColumn = columns.size() == 1;
  if (isRow)
    rows.insert(rows.begin(), call.number(1));
  if (isColumn)
    columns.push_back(call.number(1));
  if (rows.back() != columns[columns.size() - 2])
    call.fail(text("inner dimensions differ: ", call.shape(x).str(), " x ", call.shape(y).str()),
              {left, right});
  x = call.reshape(x, rows);
  y = call.reshape(y, columns);
  size_t batch = std::max(rows.size(), columns.size()) - 2;
  Dims leading(batch, call.number(1));
  auto join = [&](const Dims &dims) {
    size_t shift = batch - (dims.size() - 2);
    for (size_t i = 0; i + 2 < dims.size(); ++i) {
      AffineExpr &size = leading[shift + i];
      if (ir::isOne(size))
        size = dims[i];
      else if (size != dims[i] && !ir::isOne(dims[i]))
        call.fail(
            text("leading dimensions do not broadcast: ", call.type(left), " x ", call.type(right)),
            {left, right});
    }
  };
  join(rows), join(columns);
  auto spread = [&](Value value, const Dims &dims) {
    Dims full = leading;
    full.append(dims.end() - 2, dims.end());
    return call.broadcast(value, full);
  };
  Value product = call.emit("matmul", {spread(x, rows), spread(y, columns)});
  Dims result = ir::dimsOf(product);
  if (isColumn)
    result.pop_back();
  if (isRow)
    result.erase(result.end() - (isColumn ? 1 : 2));
  return call.done(call.reshape(product, result));
}

Tensor linear(const Operand &x, const Operand &weight) {
  Call call("linear", {&x, &weight});
  Value input = call.floating(x);
  return call.done(
      call.emit("linear", {input, call.cast(call.value(weight), ir::elementType(input))}));
}

Tensor linear(const Operand &x, const Operand &weight, const Operand &bias) {
  Call call("linear", {&x, &weight, &bias});
  Value input = call.floating(x);
  mlir::Type type = ir::elementType(input);
  return call.done(call.emit(
      "linear", {input, call.cast(call.value(weight), type), call.cast(call.value(bias), type)}));
}

Tensor conv2d(const Operand &x, const Operand &weight, ConvOptions options) {
  Call call("conv2d", {&x, &weight});
  return call.done(convolved(call, x, weight, options));
}

Tensor conv2d(const Operand &x, const Operand &weight, const Operand &bias, ConvOptions options) {
  Call call("conv2d", {&x, &weight, &bias});
  Value y = convolved(call, x, weight, options);
  return call.done(withBias(call, y, call.cast(call.value(bias), ir::elementType(y))));
}

Tensor max_pool2d(const Operand &x, PoolOptions options) {
  return pooled("max_pool2d", x, options);
}
Tensor avg_pool2d(const Operand &x, PoolOptions options) {
  return pooled("avg_pool2d", x, options);
}

Tensor adaptive_avg_pool2d(const Operand &x, Pair output) {
  Call call("adaptive_avg_pool2d", {&x});
  Value image = call.floating(x);
  Dims dims = ir::dimsOf(image);
  auto height = dims.size() == 4 ? ir::constantSize(dims[2]) : std::nullopt;
  auto width = dims.size() == 4 ? ir::constantSize(dims[3]) : std::nullopt;
  if (!height || !width || output.height < 1 || output.width < 1 || *height % output.height ||
      *width % output.width)
    call.fail(text("an image ", call.type(image), " has no equal windows for an output of ",
                   output.height, " x ", output.width),
              {image});
  Pair window(*height / output.height, *width / output.width);
  return call.done(call.emit("avg_pool2d", image,
                             {{"kernel", two(window)},
                              {"stride", two(window)},
                              {"padding", four(0)},
                              {"dilation", two(1)}}));
}

} // namespace sinter
