// Images in either layout, and the windows that slide over them.
#pragma once

#include "sinter/ir/Reference.h"

namespace sinter::ir {

/// Sizes of a rank 4 image tensor and the place of its elements, NCHW or (`last`) NHWC.
struct Images {
  Images(const ReferenceTensor &x, bool last)
      : last(last), n(x.dim(0)), c(x.dim(last ? 3 : 1)), h(x.dim(last ? 1 : 2)),
        w(x.dim(last ? 2 : 3)) {}
  int64_t at(int64_t image, int64_t channel, int64_t row, int64_t column) const {
    return last ? ((image * h + row) * w + column) * c + channel
                : ((image * c + channel) * h + row) * w + column;
  }
  bool last;
  int64_t n, c, h, w;
};

struct Window {
  template <class Op> static Window of(Op op, int64_t height, int64_t width) {
    return {height, width, op.getStride(), op.getPadding(), op.getDilation()};
  }
  int64_t height, width;
  llvm::ArrayRef<int64_t> stride, padding, dilation;

  /// Calls `body(tap, row, column)` for each tap of the window at output position (y, x) that lies
  /// inside the image.
  template <class Body>
  void forEachTap(const Images &image, int64_t y, int64_t x, Body body) const {
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j) {
        int64_t row = y * stride[0] - padding[0] + i * dilation[0],
                column = x * stride[1] - padding[1] + j * dilation[1];
        if (row >= 0 && row < image.h && column >= 0 && column < image.w)
          body(i * width + j, row, column);
      }
  }
};

/// Calls `body(image, channel, row, column)` everywhere.
template <class Body> void forEachPixel(const Images &images, Body body) {
  for (int64_t n = 0; n < images.n; ++n)
    for (int64_t c = 0; c < images.c; ++c)
      for (int64_t y = 0; y < images.h; ++y)
        for (int64_t x = 0; x < images.w; ++x)
          body(n, c, y, x);
}

/// Stores sums that were kept in double.
inline llvm::LogicalResult store(const std::vector<double> &sums, ReferenceTensor &y) {
  for (int64_t i = 0; i < y.size(); ++i)
    y.set(i, sums[i]);
  return llvm::success();
}

} // namespace sinter::ir
