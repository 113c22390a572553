#include "cut.h"

#include <algorithm>

namespace sinter::rt::onednn {
namespace {

int64_t floorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

/// The padding at the end that makes `axis.out` outputs of its other fields.
int64_t endPadding(const ConvAxis &axis) {
  return (axis.out - 1) * axis.stride + axis.extent() - axis.in - axis.padBegin;
}

} // namespace

std::vector<Range> cutRange(int64_t total, int64_t pieces, int64_t alignment) {
  std::vector<Range> ranges;
  int64_t units = ceilDiv(total, alignment), begin = 0;
  pieces = std::clamp<int64_t>(pieces, 1, std::max<int64_t>(units, 1));
  for (int64_t i = 1; i <= pieces; ++i) {
    int64_t end = std::min(total, i * units / pieces * alignment);
    if (end > begin)
      ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

int64_t tasksFor(double flops) {
  constexpr double flopsPerTask = 1.5e6; // some 20 us on one core, against 2 us to fork
  return std::clamp<int64_t>(int64_t(flops / flopsPerTask), 1, kMaxTasks);
}

AxisPart forwardPart(const ConvAxis &axis, Range range) {
  int64_t start = range.begin * axis.stride - axis.padBegin;
  int64_t stop = (range.end - 1) * axis.stride - axis.padBegin + axis.extent();
  AxisPart part{axis, std::max<int64_t>(start, 0), range.begin};
  part.axis.in = std::min(stop, axis.in) - part.inBegin;
  part.axis.out = range.size();
  part.axis.padBegin = part.inBegin - start;
  part.axis.padEnd = endPadding(part.axis);
  return part;
}

AxisPart backwardPart(const ConvAxis &axis, Range range) {
  // Input i meets output o where i + padBegin = o * stride + k * dilation.
  int64_t first = ceilDiv(range.begin + axis.padBegin - axis.extent() + 1, axis.stride);
  // A stride beyond the kernel would ask for negative padding: start one output earlier.
  first = std::min(first, floorDiv(range.begin + axis.padBegin, axis.stride));
  int64_t last = floorDiv(range.end - 1 + axis.padBegin, axis.stride);
  AxisPart part{axis, range.begin, std::clamp<int64_t>(first, 0, axis.out)};
  part.axis.in = range.size();
  part.axis.out = std::min(last, axis.out - 1) - part.outBegin + 1;
  part.axis.padBegin = axis.padBegin + range.begin - part.outBegin * axis.stride;
  part.axis.padEnd = endPadding(part.axis);
  return part;
}

std::vector<ConvPiece> cutConvolution(int64_t batch, const ConvAxis &rows, bool backward,
                                      bool cutRows, int64_t tasks) {
  constexpr int64_t minimumRows = 4;
  AxisPart whole{rows, 0, 0};
  std::vector<AxisPart> parts{whole};
  int64_t extent = backward ? rows.in : rows.out;
  if (cutRows && batch < tasks && batch < kMaxTasks / 2) {
    int64_t pieces = std::min(ceilDiv(tasks, batch), extent / minimumRows);
    std::vector<AxisPart> cut;
    for (Range range : cutRange(extent, pieces))
      cut.push_back(backward ? backwardPart(rows, range) : forwardPart(rows, range));
    if (std::all_of(cut.begin(), cut.end(), [](const AxisPart &part) { return part.valid(); }))
      parts = std::move(cut);
  }
  std::vector<ConvPiece> pieces;
  // Rows of one image are contiguous, those of several are not.
  for (Range images : cutRange(batch, parts.size() > 1 ? batch : tasks))
    for (const AxisPart &part : parts)
      pieces.push_back({images, part});
  return pieces;
}

std::vector<MatmulPiece> cutMatmul(int64_t batch, int64_t rows, int64_t columns, int64_t depth,
                                   bool cutColumns) {
  constexpr int64_t minimumRows = 32, minimumColumns = 64;
  int64_t tasks = tasksFor(2.0 * double(batch) * double(rows) * double(columns) * double(depth));
  int64_t perMatrix = std::max<int64_t>(1, tasks / batch);
  int64_t maxRows = std::max<int64_t>(1, rows / minimumRows);
  int64_t maxColumns = cutColumns ? std::max<int64_t>(1, columns / minimumColumns) : 1;
  // Each row block packs the right operand anew, each column block the left one.
  int64_t rowCuts = 1, columnCuts = 1;
  auto better = [&](int64_t r, int64_t c) {
    if (r * c != rowCuts * columnCuts)
      return r * c > rowCuts * columnCuts;
    return r * columns + c * rows < rowCuts * columns + columnCuts * rows;
  };
  for (int64_t r = 1; r <= std::min(perMatrix, maxRows); ++r)
    if (int64_t c = std::min(perMatrix / r, maxColumns); better(r, c))
      rowCuts = r, columnCuts = c;
  std::vector<MatmulPiece> pieces;
  for (Range matrices : cutRange(batch, std::min(batch, tasks)))
    for (Range rowRange : cutRange(rows, rowCuts, 4))
      for (Range columnRange : cutRange(columns, columnCuts, 16))
        pieces.push_back({matrices, rowRange, columnRange});
  return pieces;
}

} // namespace sinter::rt::onednn
