// How calls are cut into tasks: pure functions of the shape, never of the number
// of threads or the machine, since the cut decides the order of additions.
#pragma once

#include <cstdint>
#include <vector>

namespace sinter::rt::onednn {

/// Enough for 8 threads of unequal speed, few enough to keep each task large.
inline constexpr int64_t kMaxTasks = 16;

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

/// [0, total) in at most `pieces` nonempty ranges of almost equal size whose
/// inner boundaries are multiples of `alignment`.
std::vector<Range> cutRange(int64_t total, int64_t pieces, int64_t alignment = 1);

/// How many tasks `flops` of work deserve.
int64_t tasksFor(double flops);

/// One spatial axis of a convolution: out = (padBegin + in + padEnd - extent) / stride + 1.
struct ConvAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, padBegin = 0, padEnd = 0;
  int64_t extent() const { return (kernel - 1) * dilation + 1; }
};

/// Part of a convolution along one axis: a smaller convolution whose input starts
/// at `inBegin` and whose output starts at `outBegin` of the whole one.
struct AxisPart {
  ConvAxis axis;
  int64_t inBegin = 0, outBegin = 0;
  /// False if the part reads nothing or the library can't express its padding.
  bool valid() const { return axis.in > 0 && axis.out > 0 && axis.padBegin >= 0; }
};

/// The part that computes outputs `range` from the inputs they need.
AxisPart forwardPart(const ConvAxis &axis, Range range);
/// The part that computes the gradient of inputs `range` from the outputs they reach.
AxisPart backwardPart(const ConvAxis &axis, Range range);

/// Images and rows of one task of a convolution.
struct ConvPiece {
  Range images;
  AxisPart rows;
};

/// Cuts along the batch and, where it is too small for `tasks` and `cutRows`
/// allows, along the rows of the output (forward) or of the input (backward).
std::vector<ConvPiece> cutConvolution(int64_t batch, const ConvAxis &rows, bool backward,
                                      bool cutRows, int64_t tasks);

/// One task of a matrix product.
struct MatmulPiece {
  Range batch, rows, columns;
};

/// Cuts along the batch, then into a grid of blocks that repacks least;
/// `cutColumns` false keeps rows whole.
std::vector<MatmulPiece> cutMatmul(int64_t batch, int64_t rows, int64_t columns, int64_t depth,
                                   bool cutColumns);

} // namespace sinter::rt::onednn
