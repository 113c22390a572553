#include "builders.h"
#include "cut.h"
#include "library_task.h"
#include "plain_tasks.h"
#include "sinter/base/text.h"

#include <algorithm>
#include <array>
#include <map>

namespace sinter::rt::onednn {
namespace {

using dnnl::memory;

/// A convolution of x into y; the gradients are of the same geometry.
struct Geometry {
  int64_t batch = 0, inChannels = 0, outChannels = 0, groups = 1;
  bool channelsLast = false;
  ConvAxis h, w;

  double flops() const {
    return 2.0 * double(batch) * double(outChannels) * double(h.out * w.out) *
           double(inChannels / groups) * double(h.kernel * w.kernel);
  }
  int64_t weightElements() const {
    return outChannels * (inChannels / groups) * h.kernel * w.kernel;
  }
};

/// Which operand plays which part, by the call's order.
struct Roles {
  int x, w, y;
};
Roles rolesOf(LibraryOp op) {
  switch (op) {
  case LibraryOp::Conv2dInputGrad:
    return {2, 1, 0};
  case LibraryOp::Conv2dWeightGrad:
    return {0, 2, 1};
  default:
    return {0, 1, 2};
  }
}

bool consistent(const ConvAxis &axis) {
  int64_t span = axis.padBegin + axis.in + axis.padEnd - axis.extent();
  return axis.stride > 0 && axis.dilation > 0 && axis.padBegin >= 0 && axis.padEnd >= 0 &&
         axis.out == (span < 0 ? 0 : span / axis.stride + 1);
}

StatusOr<Geometry> parseGeometry(const LibraryCall &call, const std::vector<Operand> &operands) {
  Roles roles = rolesOf(call.op);
  const Operand &x = operands[roles.x], &w = operands[roles.w], &y = operands[roles.y];
  if (call.ints.size() != 10)
    return makeError(Code::InvalidArgument, "conv2d takes 10 integers, got ", call.ints.size());
  for (const Operand *operand : {&x, &w, &y})
    if (operand->dims.size() != 4)
      return makeError(Code::InvalidArgument, "conv2d takes operands of rank 4, got ",
                       formatType(operand->dtype, operand->dims));
  const std::vector<int64_t> &i = call.ints;
  Geometry g;
  g.groups = i[8];
  g.channelsLast = i[9] != 0;
  int c = g.channelsLast ? 3 : 1, h = g.channelsLast ? 1 : 2;
  g.batch = x.dims[0];
  g.inChannels = x.dims[c];
  g.outChannels = y.dims[c];
  g.h = {x.dims[h], y.dims[h], w.dims[2], i[0], i[6], i[2], i[4]};
  g.w = {x.dims[h + 1], y.dims[h + 1], w.dims[3], i[1], i[7], i[3], i[5]};
  bool channelsFit = g.groups > 0 && g.inChannels == w.dims[1] * g.groups &&
                     g.outChannels == w.dims[0] && g.outChannels % g.groups == 0 &&
                     g.weightElements() > 0;
  if (y.dims[0] != g.batch || !channelsFit || !consistent(g.h) || !consistent(g.w))
    return makeError(Code::InvalidArgument, "conv2d: input ", formatType(x.dtype, x.dims),
                     ", weights ", formatType(w.dtype, w.dims), " and output ",
                     formatType(y.dtype, y.dims), " do not fit together with stride ", i[0], "x",
                     i[1], ", padding ", i[2], ",", i[3], ",", i[4], ",", i[5], ", dilation ", i[6],
                     "x", i[7], ", ", i[8], " groups, ",
                     g.channelsLast ? "channels last" : "channels first");
  return g;
}

class ConvolutionBuilder {
public:
  ConvolutionBuilder(const Geometry &geometry, const LibraryCall &call,
                     const std::vector<Operand> &operands, TaskList &list)
      : g(geometry), call(call), list(list), roles(rolesOf(call.op)), x(operands[roles.x]),
        w(operands[roles.w]), y(operands[roles.y]), epilogue(call, operands) {}

  Status build() {
    if (call.op == LibraryOp::Conv2dWeightGrad)
      return buildWeightGrad();
    bool backward = call.op == LibraryOp::Conv2dInputGrad;
    const Operand &result = backward ? x : y;
    if (result.elements() == 0)
      return {};
    if (y.elements() == 0) { // no output has seen the input
      list.addPhase(zeroPhase(x.place, x.elements() * int64_t(byteSize(x.dtype))));
      return {};
    }
    Phase phase;
    for (const ConvPiece &piece : cut(backward, tasksFor(g.flops()))) {
      StatusOr<std::unique_ptr<Task>> task = backward ? inputGradTask(piece) : forwardTask(piece);
      if (!task.ok())
        return task.status();
      phase.push_back(*std::move(task));
    }
    list.addPhase(std::move(packing));
    list.addPhase(std::move(phase));
    return {};
  }

private:
  /// What oneDNN made for pieces of one size.
  struct Compiled {
    dnnl::primitive primitive;
    memory::desc weights, scratchpad;
  };
  struct Layouts {
    memory::desc x, y, bias, laterBias;
    memory::dims strides, dilations, padBegin, padEnd;
  };

  Layouts layoutsOf(const ConvPiece &piece) const {
    auto tag = g.channelsLast ? memory::format_tag::nhwc : memory::format_tag::nchw;
    const ConvAxis &rows = piece.rows.axis;
    int64_t images = piece.images.size();
    Layouts layouts{{{images, g.inChannels, rows.in, g.w.in}, dataType(x.dtype), tag},
                    {{images, g.outChannels, rows.out, g.w.out}, dataType(y.dtype), tag},
                    {},
                    {{1, g.outChannels, 1, 1}, dataType(DType::F32), memory::format_tag::nchw},
                    {g.h.stride, g.w.stride},
                    {g.h.dilation - 1, g.w.dilation - 1},
                    {rows.padBegin, g.w.padBegin},
                    {rows.padEnd, g.w.padEnd}};
    if (epilogue.hasBias())
      layouts.bias = {{g.outChannels}, dataType(epilogue.biasType()), memory::format_tag::a};
    return layouts;
  }

  memory::desc weightLayout(DType dtype, bool plain) const {
    int64_t out = g.outChannels / g.groups, in = g.inChannels / g.groups;
    if (g.groups == 1)
      return {{out, in, g.h.kernel, g.w.kernel},
              dataType(dtype),
              plain ? memory::format_tag::oihw : memory::format_tag::any};
    return {{g.groups, out, in, g.h.kernel, g.w.kernel},
            dataType(dtype),
            plain ? memory::format_tag::goihw : memory::format_tag::any};
  }

  int64_t firstElement(const ConvPiece &piece, bool ofOutput) const {
    int64_t channels = ofOutput ? g.outChannels : g.inChannels;
    int64_t height = ofOutput ? g.h.out : g.h.in, width = ofOutput ? g.w.out : g.w.in;
    int64_t row = ofOutput ? piece.rows.outBegin : piece.rows.inBegin;
    int64_t image = piece.images.begin * height * width * channels;
    return image + row * width * (g.channelsLast ? channels : 1);
  }
  Place placeOf(const Operand &operand, const ConvPiece &piece) const {
    return operand.place.plus(firstElement(piece, &operand == &y) *
                              int64_t(byteSize(operand.dtype)));
  }

  dnnl::convolution_forward::primitive_desc forwardDescription(const Layouts &l,
                                                               const memory::desc &weights) const {
    auto kind = dnnl::prop_kind::forward_training;
    auto algorithm = dnnl::algorithm::convolution_direct;
    using Description = dnnl::convolution_forward::desc;
    Description description = epilogue.hasBias()
                                  ? Description(kind, algorithm, l.x, weights, l.bias, l.y,
                                                l.strides, l.dilations, l.padBegin, l.padEnd)
                                  : Description(kind, algorithm, l.x, weights, l.y, l.strides,
                                                l.dilations, l.padBegin, l.padEnd);
    return {description, epilogue.attributes(l.y, l.laterBias), engine()};
  }

  /// The primitive for pieces of `piece`'s size, made once.
  const Compiled &compiledFor(const ConvPiece &piece) {
    const ConvAxis &rows = piece.rows.axis;
    auto [found, isNew] = compiled.try_emplace(
        std::array{piece.images.size(), rows.in, rows.out, rows.padBegin, rows.padEnd});
    if (isNew)
      found->second = compile(layoutsOf(piece));
    return found->second;
  }

  Compiled compile(const Layouts &l) {
    auto direct = dnnl::algorithm::convolution_direct;
    auto note = [&](const auto &chosen, const memory::desc &weights) {
      list.noteImplementation(chosen.impl_info_str());
      return Compiled{dnnl::primitive(chosen), weights, chosen.scratchpad_desc()};
    };
    dnnl::primitive_attr attributes = epilogue.attributes(l.y, l.laterBias);
    memory::desc weights = weightLayout(w.dtype, false);
    if (call.op == LibraryOp::Conv2d) {
      dnnl::convolution_forward::primitive_desc chosen = forwardDescription(l, weights);
      return note(chosen, chosen.weights_desc());
    }
    // The library asks gradients for the forward call of the same types.
    Layouts forward = l;
    if (call.op == LibraryOp::Conv2dInputGrad) {
      forward.x.data.data_type = l.y.data.data_type;
      dnnl::convolution_backward_data::primitive_desc chosen(
          {direct, l.x, weights, l.y, l.strides, l.dilations, l.padBegin, l.padEnd}, attributes,
          engine(), forwardDescription(forward, weights));
      return note(chosen, chosen.weights_desc());
    }
    memory::desc partial = weightLayout(DType::F32, false); // whatever the result's type
    dnnl::convolution_backward_weights::primitive_desc chosen(
        {direct, l.x, partial, l.y, l.strides, l.dilations, l.padBegin, l.padEnd}, attributes,
        engine(), forwardDescription(forward, weightLayout(x.dtype, false)));
    return note(chosen, chosen.diff_weights_desc());
  }

  Argument scratchpad(const Compiled &made) {
    return {DNNL_ARG_SCRATCHPAD, made.scratchpad,
            list.allocateScratch(int64_t(made.scratchpad.get_size()))};
  }

  /// Fewer and larger pieces than `tasks` where the library unfolds its input:
  /// each task needs room for that.
  std::vector<ConvPiece> cut(bool backward, int64_t tasks) {
    constexpr int64_t roomForAll = 32 << 20, fewest = 2;
    std::vector<ConvPiece> pieces = cutConvolution(g.batch, g.h, backward, g.channelsLast, tasks);
    int64_t room = std::max<int64_t>(1, int64_t(compiledFor(pieces[0]).scratchpad.get_size()));
    if (room * int64_t(pieces.size()) <= roomForAll)
      return pieces;
    return cutConvolution(g.batch, g.h, backward, g.channelsLast,
                          std::min(tasks, std::max(fewest, roomForAll / room)));
  }

  StatusOr<std::unique_ptr<Task>> forwardTask(const ConvPiece &piece) {
    Layouts l = layoutsOf(piece);
    const Compiled &made = compiledFor(piece);
    StatusOr<Place> weights = weightsAs(made.weights);
    if (!weights.ok())
      return weights.status();
    std::vector<Argument> arguments{{DNNL_ARG_SRC, l.x, placeOf(x, piece)},
                                    {DNNL_ARG_WEIGHTS, made.weights, *weights},
                                    {DNNL_ARG_DST, l.y, placeOf(y, piece)},
                                    scratchpad(made)};
    if (epilogue.hasBias())
      arguments.push_back({DNNL_ARG_BIAS, l.bias, epilogue.biasPlace()});
    epilogue.appendArguments(arguments, l.y, l.laterBias, firstElement(piece, true), 0);
    return makeLibraryTask(made.primitive, arguments);
  }

  StatusOr<std::unique_ptr<Task>> inputGradTask(const ConvPiece &piece) {
    Layouts l = layoutsOf(piece);
    const Compiled &made = compiledFor(piece);
    StatusOr<Place> weights = weightsAs(made.weights);
    if (!weights.ok())
      return weights.status();
    return makeLibraryTask(made.primitive, {{DNNL_ARG_DIFF_DST, l.y, placeOf(y, piece)},
                                            {DNNL_ARG_WEIGHTS, made.weights, *weights},
                                            {DNNL_ARG_DIFF_SRC, l.x, placeOf(x, piece)},
                                            scratchpad(made)});
  }

  /// Where the weights lie in `layout`: packed when made if they are constant,
  /// else at the start of each run; in place if the layout is the plain one.
  StatusOr<Place> weightsAs(const memory::desc &layout) {
    memory::desc plain = weightLayout(w.dtype, true);
    if (layout == plain)
      return w.place;
    for (const auto &[known, place] : packedWeights)
      if (known == layout)
        return place;
    int64_t bytes = int64_t(layout.get_size());
    Place place;
    if (w.constant) {
      StatusOr<Place> packed = list.allocatePacked(bytes);
      if (!packed.ok())
        return packed.status();
      place = *packed;
      SINTER_RETURN_IF_ERROR(list.runNow(reorderPhase(plain, w.place, layout, place)));
    } else {
      place = list.allocateScratch(bytes);
      std::ranges::move(reorderPhase(plain, w.place, layout, place), std::back_inserter(packing));
    }
    packedWeights.emplace_back(layout, place);
    return place;
  }

  Status buildWeightGrad() {
    if (y.elements() == 0) {
      list.addPhase(zeroPhase(w.place, w.elements() * int64_t(byteSize(w.dtype))));
      return {};
    }
    std::vector<ConvPiece> pieces = cut(false, weightGradTasks());
    memory::desc layout = compiledFor(pieces.front()).weights;
    // Partial sums need one layout; oneDNN's choice rarely depends on the rows of a piece.
    for (const ConvPiece &piece : pieces)
      if (compiledFor(piece).weights != layout) {
        pieces = {{{0, g.batch}, {g.h, 0, 0}}};
        layout = compiledFor(pieces.front()).weights;
        break;
      }
    memory::desc plain = weightLayout(w.dtype, true);
    bool inPlace = layout == plain;
    std::vector<Place> partials;
    Phase phase;
    for (const ConvPiece &piece : pieces) {
      partials.push_back(inPlace && pieces.size() == 1
                             ? w.place
                             : list.allocateScratch(int64_t(layout.get_size())));
      Layouts l = layoutsOf(piece);
      const Compiled &made = compiledFor(piece);
      phase.push_back(
          makeLibraryTask(made.primitive, {{DNNL_ARG_SRC, l.x, placeOf(x, piece)},
                                           {DNNL_ARG_DIFF_DST, l.y, placeOf(y, piece)},
                                           {DNNL_ARG_DIFF_WEIGHTS, layout, partials.back()},
                                           scratchpad(made)}));
    }
    list.addPhase(std::move(phase));
    if (partials.size() > 1)
      list.addPhase(sumPhase(partials, inPlace ? w.place : partials[0],
                             int64_t(layout.get_size() / sizeof(float))));
    if (!inPlace)
      list.addPhase(reorderPhase(layout, partials[0], plain, w.place));
    return {};
  }

  /// Each partial is written, read and added: worth a few percent of the work.
  /// A core does some 7 operations in the time a byte takes.
  int64_t weightGradTasks() const {
    constexpr double flopsPerByte = 7, share = 0.05;
    double bytes = 12.0 * double(g.weightElements());
    int64_t affordable = int64_t(share * g.flops() / (flopsPerByte * bytes));
    return std::min(tasksFor(g.flops()), std::max<int64_t>(affordable, 2));
  }

  const Geometry &g;
  const LibraryCall &call;
  TaskList &list;
  Roles roles;
  const Operand &x, &w, &y;
  Epilogue epilogue;
  Phase packing; ///< reorders of the weights, before the convolution
  std::vector<std::pair<memory::desc, Place>> packedWeights;
  std::map<std::array<int64_t, 5>, Compiled> compiled; ///< by the piece's sizes
};

} // namespace

Status buildConvolution(const LibraryCall &call, const std::vector<Operand> &operands,
                        TaskList &list) {
  StatusOr<Geometry> geometry = parseGeometry(call, operands);
  if (!geometry.ok())
    return geometry.status();
  return ConvolutionBuilder(*geometry, call, operands, list).build();
}

} // namespace sinter::rt::onednn
