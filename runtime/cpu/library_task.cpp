#include "library_task.h"

#include "cut.h"

#include <algorithm>
#include <array>

namespace sinter::rt::onednn {
namespace {

using dnnl::memory;

/// CPU streams hold no state: all threads share one.
const dnnl::stream &stream() {
  static const auto &instance = *new dnnl::stream(engine());
  return instance;
}

class LibraryTask final : public Task {
public:
  LibraryTask(const dnnl::primitive &primitive, const std::vector<Argument> &list)
      : primitive(primitive) {
    for (const Argument &argument : list) {
      if (argument.layout.get_size() == 0)
        continue;
      memories.emplace_back(argument.layout, engine(), nullptr);
      places.push_back(argument.place);
      arguments.push_back({argument.name, memories.back().get()});
    }
    bound.resize(memories.size());
  }

  void bind(const Areas &areas) override {
    for (size_t i = 0; i < memories.size(); ++i)
      if (void *address = areas.at(places[i]); address != bound[i]) {
        memories[i].set_data_handle(address);
        bound[i] = address;
      }
  }

  bool run() override {
    // The C interface takes the arguments as they are; the C++ one copies them.
    return dnnl_primitive_execute(primitive.get(), stream().get(), int(arguments.size()),
                                  arguments.data()) == dnnl_success;
  }

private:
  dnnl::primitive primitive;
  std::vector<memory> memories;
  std::vector<Place> places;
  std::vector<void *> bound;
  std::vector<dnnl_exec_arg_t> arguments;
};

class GemmTask final : public Task {
public:
  GemmTask(const Gemm &gemm, Place a, Place b, Place c) : gemm(gemm), places{a, b, c} {}

  void bind(const Areas &areas) override {
    for (size_t i = 0; i < places.size(); ++i)
      data[i] = reinterpret_cast<float *>(areas.at(places[i]));
  }

  bool run() override {
    const auto [transposeA, transposeB, rows, columns, depth] = gemm;
    return dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', rows, columns, depth, 1,
                      data[0], transposeA ? rows : depth, data[1], transposeB ? depth : columns, 0,
                      data[2], columns) == dnnl_success;
  }

private:
  Gemm gemm;
  std::array<Place, 3> places;
  std::array<float *, 3> data{};
};

/// Elements of dimension 0 that `layout` keeps together in one block.
int64_t leadingBlock(const memory::desc &layout) {
  const dnnl_blocking_desc_t &blocking = layout.data.format_desc.blocking;
  int64_t block = 1;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    if (blocking.inner_idxs[i] == 0)
      block *= blocking.inner_blks[i];
  return block;
}

memory::desc withType(const memory::desc &layout, DType dtype) {
  memory::desc result = layout;
  result.data.data_type = dnnl::memory::convert_to_c(dataType(dtype));
  return result;
}

/// Part of an argument, its offset moved from the layout to the place, so that
/// equal parts share one primitive.
Argument slice(int name, const memory::desc &layout, Place place, const memory::dims &dims,
               const memory::dims &offsets) {
  memory::desc part = layout.submemory_desc(dims, offsets);
  int64_t elementSize = layout.data.data_type == dnnl_bf16 ? 2 : 4;
  place = place.plus(part.data.offset0 * elementSize);
  part.data.offset0 = 0;
  return {name, part, place};
}

} // namespace

const dnnl::engine &engine() {
  static const auto &instance = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return instance;
}

memory::data_type dataType(DType dtype) {
  return dtype == DType::BF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

bool hasNativeBFloat16() {
  // The enumerators are bit sets in which a wider set contains the narrower one's bits.
  unsigned wanted = unsigned(dnnl::cpu_isa::avx512_core);
  return (unsigned(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

std::unique_ptr<Task> makeLibraryTask(const dnnl::primitive &primitive,
                                      const std::vector<Argument> &arguments) {
  return std::make_unique<LibraryTask>(primitive, arguments);
}

std::unique_ptr<Task> makeGemmTask(const Gemm &gemm, Place a, Place b, Place c) {
  return std::make_unique<GemmTask>(gemm, a, b, c);
}

Phase reorderPhase(const memory::desc &from, Place source, const memory::desc &to,
                   Place destination) {
  constexpr int64_t bytesPerTask = 1 << 16;
  memory::dims dims = from.dims();
  int64_t block = std::max(leadingBlock(from), leadingBlock(to));
  int64_t pieces = std::clamp<int64_t>(int64_t(from.get_size()) / bytesPerTask, 1, kMaxTasks);
  Phase phase;
  for (Range range : cutRange(dims[0], pieces, block)) {
    memory::dims part = dims, offset(dims.size(), 0);
    part[0] = range.size();
    offset[0] = range.begin;
    Argument input = slice(DNNL_ARG_FROM, from, source, part, offset);
    Argument output = slice(DNNL_ARG_TO, to, destination, part, offset);
    dnnl::reorder::primitive_desc chosen(engine(), input.layout, engine(), output.layout);
    phase.push_back(makeLibraryTask(dnnl::reorder(chosen), {input, output}));
  }
  return phase;
}

Epilogue::Epilogue(const LibraryCall &call, const std::vector<Operand> &operands)
    : postOps(call.postOps), operands(operands),
      nativeBias(!call.postOps.empty() && call.postOps[0] == PostOp::Bias) {}

bool Epilogue::hasAdd() const {
  return std::find(postOps.begin(), postOps.end(), PostOp::Add) != postOps.end();
}

dnnl::primitive_attr Epilogue::attributes(const memory::desc &result,
                                          const memory::desc &bias) const {
  dnnl::post_ops list;
  size_t operand = 3;
  for (size_t i = 0; i < postOps.size(); ++i) {
    if (postOps[i] == PostOp::Relu) {
      list.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      continue;
    }
    const memory::desc &layout = postOps[i] == PostOp::Add ? result : bias;
    if (i > 0 || !nativeBias)
      list.append_binary(dnnl::algorithm::binary_add, withType(layout, operands[operand].dtype));
    ++operand;
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(list);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void Epilogue::appendArguments(std::vector<Argument> &arguments, const memory::desc &result,
                               const memory::desc &bias, int64_t element, int64_t column) const {
  size_t operand = 3;
  int entry = 0;
  for (size_t i = 0; i < postOps.size(); ++i) {
    if (postOps[i] == PostOp::Relu) {
      ++entry;
      continue;
    }
    const Operand &from = operands[operand++];
    bool add = postOps[i] == PostOp::Add;
    if (i == 0 && nativeBias)
      continue;
    int64_t offset = (add ? element : column) * int64_t(byteSize(from.dtype));
    arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(entry++) | DNNL_ARG_SRC_1,
                         withType(add ? result : bias, from.dtype), from.place.plus(offset)});
  }
}

} // namespace sinter::rt::onednn
