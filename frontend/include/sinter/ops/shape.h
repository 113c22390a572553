// Creation, shapes and positions. Dimensions count from the end when negative.
#pragma once

#include "sinter/tensor.h"

#include <limits>
#include <vector>

namespace sinter {

Tensor zeros(const Shape &shape, DType dtype = f32, Where at = Where::current());
Tensor ones(const Shape &shape, DType dtype = f32, Where at = Where::current());
Tensor full(const Shape &shape, double value, DType dtype = f32, Where at = Where::current());
Tensor zeros_like(const Operand &x);
Tensor ones_like(const Operand &x);
/// [0, count) as i64, or `count` values start + i * step of a given type.
Tensor arange(const Dim &count, Where at = Where::current());
Tensor arange(const Dim &count, double start, double step, DType dtype = f32,
              Where at = Where::current());
Tensor eye(const Dim &rows, DType dtype = f32, Where at = Where::current());

/// One dimension may be -1: whatever is left.
Tensor reshape(const Operand &x, const Shape &shape);
struct FlattenOptions {
  int64_t first = 0, last = -1;
};
Tensor flatten(const Operand &x, FlattenOptions options = {}); ///< joins dimensions first..last
Tensor squeeze(const Operand &x, int64_t axis);                ///< drops a dimension of size 1
Tensor unsqueeze(const Operand &x, int64_t axis);              ///< adds one
Tensor transpose(const Operand &x, int64_t axis0 = -2, int64_t axis1 = -1); ///< swaps two
Tensor permute(const Operand &x, const Axes &order);
Tensor expand(const Operand &x, const Shape &shape); ///< -1 keeps a size

struct SliceOptions {
  int64_t start = 0, stop = std::numeric_limits<int64_t>::max(), step = 1;
};
/// Elements [start, stop) of a dimension, every step-th; negative positions count from the end.
Tensor slice(const Operand &x, int64_t axis, SliceOptions options);
Tensor select(const Operand &x, int64_t axis, int64_t position); ///< one position; the axis goes
Tensor concat(const std::vector<Tensor> &inputs, int64_t axis = 0, Where at = Where::current());
Tensor stack(const std::vector<Tensor> &inputs, int64_t axis = 0, Where at = Where::current());
std::vector<Tensor> split(const Operand &x, int64_t size, int64_t axis = 0);
std::vector<Tensor> chunk(const Operand &x, int64_t parts, int64_t axis = 0);
/// As PyTorch's: pairs of low and high padding, the last dimension first.
Tensor pad(const Operand &x, const std::vector<int64_t> &amounts, double value = 0);
Tensor roll(const Operand &x, int64_t shift, int64_t axis);
Tensor tril(const Operand &x, int64_t diagonal = 0); ///< of the last two dimensions
Tensor triu(const Operand &x, int64_t diagonal = 0);

/// Rows of weight [rows, width] by number; numbers out of range give zeros.
Tensor embedding(const Operand &weight, const Operand &index);
Tensor gather(const Operand &x, int64_t axis, const Operand &index);
Tensor scatter_add(const Operand &x, int64_t axis, const Operand &index, const Operand &source);
Tensor index_select(const Operand &x, int64_t axis, const Operand &index);
Tensor one_hot(const Operand &index, int64_t classes, DType dtype = i64);

} // namespace sinter
