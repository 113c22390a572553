#include "Row.h"

using namespace mlir;

namespace sinter::conformance {

struct Pooling {
  Size n;
  int64_t c, h, w, kernel[2], stride[2], padding[4], dilation[2];
  int64_t size(int64_t from, int axis) const {
    return (from + padding[axis] + padding[axis + 2] - dilation[axis] * (kernel[axis] - 1) - 1) /
               stride[axis] +
           1;
  }
};

static const Pooling kPoolings[] = {{1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
                                    {2, 3, 4, 6, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
                                    {2, 3, 5, 7, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
                                    {1, 2, 7, 5, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
                                    {2, 1, 6, 6, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
                                    {1, 3, 7, 7, {2, 3}, {1, 2}, {0, 1, 1, 0}, {1, 1}},
                                    {1, 2, 7, 7, {2, 2}, {1, 1}, {0, 0, 0, 0}, {2, 2}},
                                    {1, 17, 5, 5, {5, 5}, {5, 5}, {0, 0, 0, 0}, {1, 1}},
                                    {0, 2, 4, 4, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
                                    {sym(0), 2, 4, 4, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
                                    {sym(2), 2, 4, 4, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
                                    {1, 1, 9, 9, {2, 2}, {3, 3}, {0, 0, 0, 0}, {1, 1}}};

static void addPooling(RowMaker &maker, const Pooling &pool, bool last, StringRef element,
                       Fill fill, StringRef note = "") {
  Shape x = imageShape(last, pool.n, pool.c, pool.h, pool.w),
        y = imageShape(last, pool.n, pool.c, pool.size(pool.h, 0), pool.size(pool.w, 1));
  int64_t taps = pool.kernel[0] * pool.kernel[1];
  StringRef name = maker.op.mnemonic;
  bool toImage = name == "pool_scatter" || name == "avg_pool2d_grad";
  Row row;
  row.inputs = {maker.input(toImage ? y : x, element, std::move(fill))};
  if (maker.op.operands.size() == 2) // positions, some outside the window
    row.inputs.push_back(maker.input(y, "i32", whole(-1, taps)));
  if (toImage)
    row.results = {maker.type(x, element)};
  row.attributes = {maker.array("kernel", pool.kernel), maker.array("stride", pool.stride),
                    maker.array("padding", pool.padding), maker.array("dilation", pool.dilation)};
  if (last)
    row.attributes.push_back(maker.unit("channels_last"));
  row.terms = taps;
  maker.add(std::move(row), note);
}

bool addPoolingRows(RowMaker &maker) {
  if (maker.op.family != "pooling")
    return false;
  Fill fill = maker.op.kinks == "ties" ? distinct(-2, 2) : maker.fill();
  for (const Pooling &pool : kPoolings)
    for (bool last : {false, true})
      addPooling(maker, pool, last, "f32", fill);
  for (StringRef element : {"f64", "bf16", "f16"})
    for (int which : {1, 3})
      addPooling(maker, kPoolings[which], which == 3, element, fill);
  addPooling(maker, kPoolings[3], false, "f32", special(1), "special");
  addPooling(maker, kPoolings[2], true, "f32", whole(0, 1), "ties");
  return true;
}

} // namespace sinter::conformance
