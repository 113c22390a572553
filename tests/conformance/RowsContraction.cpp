#include "Row.h"

using namespace mlir;

namespace sinter::conformance {

static void addMatmul(RowMaker &maker, Shape batch, Size m, Size n, Size k, int transposes,
                      StringRef element, Fill fill, StringRef note = "") {
  Shape a = batch, b = batch;
  bool transposeA = transposes & 1, transposeB = transposes & 2;
  a.push_back(transposeA ? k : m), a.push_back(transposeA ? m : k);
  b.push_back(transposeB ? n : k), b.push_back(transposeB ? k : n);
  Row row;
  row.inputs = {maker.input(a, element, fill), maker.input(b, element, fill)};
  if (transposeA)
    row.attributes.push_back(maker.unit("transpose_a"));
  if (transposeB)
    row.attributes.push_back(maker.unit("transpose_b"));
  row.terms = sizeOf(k);
  maker.add(std::move(row), note);
}

static void addMatmulRows(RowMaker &maker) {
  for (const std::string &element : elementsOf("NumberTensor"))
    for (int transposes = 0; transposes < 4; ++transposes)
      addMatmul(maker, {}, 13, 7, 5, transposes, element, maker.fill());
  struct {
    Shape batch;
    Size m, n, k;
  } cases[] = {{{}, 1, 1, 1},
               {{}, 1, 31, 17},
               {{}, 31, 1, 17},
               {{}, 0, 3, 5},
               {{}, 3, 0, 5},
               {{}, 3, 5, 0},
               {{}, 64, 64, 64},
               {{}, 65, 33, 129},
               {{3}, 5, 7, 2},
               {{2, 3}, 1, 2, 3},
               {{0}, 2, 2, 2},
               {{}, sym(0), 7, 3},
               {{sym(0)}, 2, 3, sym(1)},
               {{}, sym(2), 2, 2},
               {{}, 2, 2, sym(2)}};
  for (auto &c : cases)
    for (int transposes : {0, 3})
      addMatmul(maker, c.batch, c.m, c.n, c.k, transposes, "f32", maker.fill());
  addMatmul(maker, {}, 257, 130, 300, 0, "f32", maker.fill());
  addMatmul(maker, {}, 2, 2, 500, 0, "bf16", maker.fill());
  for (StringRef element : {"f32", "f64", "bf16"})
    addMatmul(maker, {}, 3, kSpecials, kSpecials, 0, element, special(3), "special");
}

static void addLinear(RowMaker &maker, Shape leading, Size in, Size out, bool bias,
                      StringRef element, Fill fill, StringRef note = "") {
  Shape x = leading;
  x.push_back(in);
  Row row;
  row.inputs = {maker.input(x, element, fill), maker.input({out, in}, element, fill)};
  if (bias)
    row.inputs.push_back(maker.input({out}, element, fill));
  row.terms = sizeOf(in) + 1;
  maker.add(std::move(row), note);
}

static void addLinearRows(RowMaker &maker) {
  for (bool bias : {false, true}) {
    for (const std::string &element : kFloats)
      addLinear(maker, {5}, 7, 3, bias, element, maker.fill());
    for (const Shape &leading :
         {Shape{}, Shape{1}, Shape{0}, Shape{2, 3}, Shape{sym(0)}, Shape{sym(2)}, Shape{sym(3), 2}})
      addLinear(maker, leading, 11, 13, bias, "f32", maker.fill());
    addLinear(maker, {4}, 1, 1, bias, "f32", maker.fill());
    addLinear(maker, {4}, 0, 3, bias, "f32", maker.fill());
    addLinear(maker, {65}, 129, 33, bias, "f32", maker.fill());
    addLinear(maker, {3}, kSpecials, 2, bias, "f32", special(1), "special");
  }
}

struct Convolution {
  Size n;
  int64_t c, h, w, out, kernel[2], stride[2], padding[4], dilation[2], groups;
  int64_t size(int64_t from, int axis) const {
    return (from + padding[axis] + padding[axis + 2] - dilation[axis] * (kernel[axis] - 1) - 1) /
               stride[axis] +
           1;
  }
};

static const Convolution kConvolutions[] = {
    {1, 1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
    {2, 3, 5, 7, 4, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
    {2, 2, 6, 5, 3, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
    {1, 3, 8, 7, 2, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 1},
    {2, 2, 7, 7, 3, {3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}, 1},
    {1, 4, 5, 5, 6, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
    {2, 3, 6, 6, 3, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 3},
    {1, 2, 9, 4, 2, {5, 2}, {3, 1}, {2, 0, 2, 1}, {1, 2}, 1},
    {1, 1, 4, 4, 1, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1},
    {0, 2, 4, 4, 3, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
    {sym(0), 1, 6, 6, 2, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
    {sym(2), 1, 4, 4, 2, {3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
    {2, 17, 9, 11, 19, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
    {1, 2, 5, 5, 2, {3, 3}, {3, 3}, {0, 1, 2, 1}, {1, 1}, 1}};

/// `fill` is for the first operand alone: whether padding times an infinite weight is 0 or NaN is
/// nobody's promise.
static void addConvolution(RowMaker &maker, const Convolution &conv, bool last, StringRef element,
                           Fill fill, StringRef note = "") {
  Shape x = imageShape(last, conv.n, conv.c, conv.h, conv.w),
        weight = {conv.out, conv.c / conv.groups, conv.kernel[0], conv.kernel[1]};
  int64_t height = conv.size(conv.h, 0), width = conv.size(conv.w, 1),
          taps = conv.kernel[0] * conv.kernel[1];
  Shape y = imageShape(last, conv.n, conv.out, height, width);
  Row row;
  row.attributes = {maker.array("stride", conv.stride), maker.array("padding", conv.padding),
                    maker.array("dilation", conv.dilation), maker.i64("groups", conv.groups)};
  if (last)
    row.attributes.push_back(maker.unit("channels_last"));
  if (maker.op.mnemonic == "conv2d") {
    row.inputs = {maker.input(x, element, fill), maker.input(weight, element)};
    row.terms = conv.c / conv.groups * taps;
  } else if (maker.op.mnemonic == "conv2d_input_grad") {
    row.inputs = {maker.input(y, element, fill), maker.input(weight, element)};
    row.results = {maker.type(x, element)};
    row.terms = conv.out / conv.groups * taps;
  } else {
    row.inputs = {maker.input(x, element, fill), maker.input(y, element)};
    row.results = {maker.type(weight, element)};
    row.terms = sizeOf(conv.n) * height * width;
  }
  maker.add(std::move(row), note);
}

static void addConvolutionRows(RowMaker &maker) {
  for (const Convolution &conv : kConvolutions)
    for (bool last : {false, true})
      addConvolution(maker, conv, last, "f32", maker.fill());
  for (StringRef element : {"f64", "bf16", "f16"})
    for (int which : {1, 2, 5})
      addConvolution(maker, kConvolutions[which], which == 1, element, maker.fill());
  addConvolution(maker, kConvolutions[2], false, "f32", special(7), "special");
}

bool addContractionRows(RowMaker &maker) {
  if (maker.op.mnemonic == "matmul")
    addMatmulRows(maker);
  else if (maker.op.mnemonic == "linear")
    addLinearRows(maker);
  else if (StringRef(maker.op.mnemonic).starts_with("conv2d"))
    addConvolutionRows(maker);
  else
    return false;
  return true;
}

} // namespace sinter::conformance
