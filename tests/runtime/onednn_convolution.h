// Convolution calls and the naive loops that define them.
#pragma once

#include "onednn_support.h"

#include <array>

namespace sinter::rt {

struct ConvCase {
  int64_t batch = 1, in = 1, out = 1, height = 1, width = 1, kernelH = 1, kernelW = 1;
  int64_t strideH = 1, strideW = 1;
  std::array<int64_t, 4> padding{}; ///< top, left, bottom, right
  int64_t dilationH = 1, dilationW = 1, groups = 1;
  bool channelsLast = false;

  int64_t outHeight() const {
    return outputs(padding[0] + height + padding[2], kernelH, strideH, dilationH);
  }
  int64_t outWidth() const {
    return outputs(padding[1] + width + padding[3], kernelW, strideW, dilationW);
  }
  std::vector<int64_t> shape(int64_t channels, int64_t h, int64_t w) const {
    return channelsLast ? std::vector{batch, h, w, channels} : std::vector{batch, channels, h, w};
  }
  /// Position of an element of an activation in memory.
  int64_t at(int64_t channels, int64_t h, int64_t w, int64_t n, int64_t c, int64_t y,
             int64_t x) const {
    return channelsLast ? ((n * h + y) * w + x) * channels + c
                        : ((n * channels + c) * h + y) * w + x;
  }

private:
  static int64_t outputs(int64_t padded, int64_t kernel, int64_t stride, int64_t dilation) {
    int64_t span = padded - (kernel - 1) * dilation - 1;
    return span < 0 ? 0 : span / stride + 1;
  }
};

inline std::string toString(const ConvCase &c) {
  return concat("batch ", c.batch, ", ", c.in, " -> ", c.out, " channels, ", c.height, "x", c.width,
                ", kernel ", c.kernelH, "x", c.kernelW, ", stride ", c.strideH, "x", c.strideW,
                ", padding ", c.padding[0], ",", c.padding[1], ",", c.padding[2], ",", c.padding[3],
                ", dilation ", c.dilationH, "x", c.dilationW, ", groups ", c.groups,
                c.channelsLast ? ", nhwc" : ", nchw");
}

struct ConvProblem {
  LibraryCall call;
  std::vector<TestTensor> tensors;
};

inline ConvProblem makeProblem(const ConvCase &c, LibraryOp op, std::vector<PostOp> postOps,
                               bool integers, DType dtype = DType::F32) {
  auto make = [&](std::vector<int64_t> dims, unsigned seed) {
    return randomTensor(std::move(dims), seed, integers, dtype);
  };
  TestTensor x = make(c.shape(c.in, c.height, c.width), 1);
  TestTensor w = make({c.out, c.in / c.groups, c.kernelH, c.kernelW}, 2);
  TestTensor y = make(c.shape(c.out, c.outHeight(), c.outWidth()), 3);
  ConvProblem problem{{op,
                       {c.strideH, c.strideW, c.padding[0], c.padding[1], c.padding[2],
                        c.padding[3], c.dilationH, c.dilationW, c.groups, c.channelsLast},
                       std::move(postOps)},
                      {}};
  if (op == LibraryOp::Conv2d)
    problem.tensors = {x, w, y};
  else if (op == LibraryOp::Conv2dInputGrad)
    problem.tensors = {y, w, x};
  else
    problem.tensors = {x, y, w};
  for (PostOp postOp : problem.call.postOps)
    if (postOp != PostOp::Relu)
      problem.tensors.push_back(make(postOp == PostOp::Add ? y.dims : std::vector{c.out},
                                     unsigned(problem.tensors.size()) + 1));
  return problem;
}

/// Calls `visit` with the positions in x, w and y of every product of the convolution.
template <class Visit> void forEachProduct(const ConvCase &c, Visit visit) {
  int64_t perGroupIn = c.in / c.groups, perGroupOut = c.out / c.groups;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t o = 0; o < c.out; ++o)
      for (int64_t oy = 0; oy < c.outHeight(); ++oy)
        for (int64_t ox = 0; ox < c.outWidth(); ++ox)
          for (int64_t i = 0; i < perGroupIn; ++i)
            for (int64_t ky = 0; ky < c.kernelH; ++ky)
              for (int64_t kx = 0; kx < c.kernelW; ++kx) {
                int64_t iy = oy * c.strideH + ky * c.dilationH - c.padding[0];
                int64_t ix = ox * c.strideW + kx * c.dilationW - c.padding[1];
                if (iy < 0 || iy >= c.height || ix < 0 || ix >= c.width)
                  continue;
                visit(c.at(c.in, c.height, c.width, n, o / perGroupOut * perGroupIn + i, iy, ix),
                      ((o * perGroupIn + i) * c.kernelH + ky) * c.kernelW + kx,
                      c.at(c.out, c.outHeight(), c.outWidth(), n, o, oy, ox));
              }
}

inline std::vector<float> reference(const ConvCase &c, const ConvProblem &problem) {
  const std::vector<float> &a = problem.tensors[0].values, &b = problem.tensors[1].values;
  std::vector<double> sums(problem.tensors[2].values.size());
  LibraryOp op = problem.call.op;
  forEachProduct(c, [&](int64_t x, int64_t w, int64_t y) {
    if (op == LibraryOp::Conv2d)
      sums[y] += double(a[x]) * b[w];
    else if (op == LibraryOp::Conv2dInputGrad)
      sums[x] += double(a[y]) * b[w];
    else
      sums[w] += double(a[x]) * b[y];
  });
  int64_t area = c.outHeight() * c.outWidth();
  return finish(problem.call, problem.tensors, std::move(sums), [&](size_t i) {
    return c.channelsLast ? int64_t(i) % c.out : int64_t(i) / area % c.out;
  });
}

} // namespace sinter::rt
