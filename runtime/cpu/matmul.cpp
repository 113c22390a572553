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

/// C[batch, rows, columns] = op(A) op(B) with `depth` terms a sum.
struct Product {
  int64_t batch = 1, rows = 0, columns = 0, depth = 0;
  bool transposeA = false, transposeB = false;
};

StatusOr<Product> parseProduct(const LibraryCall &call, const std::vector<Operand> &operands) {
  const Operand &a = operands[0], &b = operands[1], &c = operands[2];
  if (call.ints.size() != 3)
    return makeError(Code::InvalidArgument, "matmul takes 3 integers, got ", call.ints.size());
  size_t batchRank = size_t(call.ints[2]);
  Product product{1, 0, 0, 0, call.ints[0] != 0, call.ints[1] != 0};
  for (const Operand *operand : {&a, &b, &c})
    if (operand->dims.size() != batchRank + 2)
      return makeError(Code::InvalidArgument, "matmul of batch rank ", batchRank,
                       " takes operands of rank ", batchRank + 2, ", got ",
                       formatType(operand->dtype, operand->dims));
  bool good = true;
  for (size_t i = 0; i < batchRank; ++i) {
    good &= a.dims[i] == b.dims[i] && a.dims[i] == c.dims[i];
    product.batch *= a.dims[i];
  }
  product.rows = a.dims[batchRank + product.transposeA];
  product.depth = a.dims[batchRank + !product.transposeA];
  product.columns = b.dims[batchRank + !product.transposeB];
  good &= b.dims[batchRank + product.transposeB] == product.depth;
  good &= c.dims[batchRank] == product.rows && c.dims[batchRank + 1] == product.columns;
  if (!good)
    return makeError(Code::InvalidArgument, "matmul", product.transposeA ? " (A transposed)" : "",
                     product.transposeB ? " (B transposed)" : "", ": ", formatType(a.dtype, a.dims),
                     " times ", formatType(b.dtype, b.dims), " does not make ",
                     formatType(c.dtype, c.dims));
  return product;
}

class MatmulBuilder {
public:
  MatmulBuilder(const Product &product, const LibraryCall &call,
                const std::vector<Operand> &operands, TaskList &list)
      : product(product), operands(operands), list(list), epilogue(call, operands),
        a(operands[0].place), b(operands[1].place) {}

  void build() {
    if (product.batch * product.rows * product.columns == 0)
      return;
    if (product.depth == 0)
      padDepth();
    std::vector<MatmulPiece> pieces =
        cutMatmul(product.batch, product.rows, product.columns, product.depth, !epilogue.hasAdd());
    Phase phase;
    if (pieces.size() == 1 && isPlain()) {
      list.noteImplementation("sgemm");
      phase.push_back(makeGemmTask(
          {product.transposeA, product.transposeB, product.rows, product.columns, product.depth}, a,
          b, operands[2].place));
    } else {
      for (const MatmulPiece &piece : pieces)
        phase.push_back(makeTask(piece));
    }
    list.addPhase(std::move(phase));
  }

private:
  bool isPlain() const {
    return product.batch == 1 && epilogue.empty() && operands[0].dtype == DType::F32 &&
           operands[2].dtype == DType::F32;
  }

  /// An empty sum is computed as one term of zeros, so that post-ops apply.
  void padDepth() {
    product.depth = 1;
    int64_t bytes = product.batch * std::max(product.rows, product.columns) * 4;
    a = b = list.allocateScratch(bytes);
    list.addPhase(zeroPhase(a, bytes));
  }

  static memory::desc layout(DType dtype, memory::dims dims, int64_t matrix, int64_t rowStride,
                             int64_t columnStride) {
    return {std::move(dims), dataType(dtype), memory::dims{matrix, rowStride, columnStride}};
  }

  std::unique_ptr<Task> makeTask(const MatmulPiece &piece) {
    const auto [batch, rows, columns, depth, transposeA, transposeB] = product;
    int64_t count = piece.batch.size(), height = piece.rows.size(), width = piece.columns.size();
    DType aType = operands[0].dtype, bType = operands[1].dtype, cType = operands[2].dtype;
    memory::desc aLayout = layout(aType, {count, height, depth}, rows * depth,
                                  transposeA ? 1 : depth, transposeA ? rows : 1);
    memory::desc bLayout = layout(bType, {count, depth, width}, depth * columns,
                                  transposeB ? 1 : columns, transposeB ? depth : 1);
    memory::desc cLayout = layout(cType, {count, height, width}, rows * columns, columns, 1);
    memory::desc biasLayout = layout(DType::F32, {1, 1, width}, width, width, 1);
    memory::desc nativeBias = epilogue.hasBias()
                                  ? layout(epilogue.biasType(), {1, 1, width}, width, width, 1)
                                  : memory::desc();

    auto [found, isNew] = compiled.try_emplace(std::array{count, height, width});
    if (isNew) {
      dnnl::matmul::desc description =
          epilogue.hasBias() ? dnnl::matmul::desc(aLayout, bLayout, nativeBias, cLayout)
                             : dnnl::matmul::desc(aLayout, bLayout, cLayout);
      dnnl::matmul::primitive_desc chosen(description, epilogue.attributes(cLayout, biasLayout),
                                          engine());
      list.noteImplementation(chosen.impl_info_str());
      found->second = {dnnl::matmul(chosen), chosen.scratchpad_desc()};
    }
    const auto &[primitive, scratchpad] = found->second;

    int64_t aFirst = piece.batch.begin * rows * depth + piece.rows.begin * (transposeA ? 1 : depth);
    int64_t bFirst =
        piece.batch.begin * depth * columns + piece.columns.begin * (transposeB ? depth : 1);
    int64_t cFirst = (piece.batch.begin * rows + piece.rows.begin) * columns + piece.columns.begin;
    auto at = [](Place place, DType dtype, int64_t element) {
      return place.plus(element * int64_t(byteSize(dtype)));
    };
    std::vector<Argument> arguments{
        {DNNL_ARG_SRC, aLayout, at(a, aType, aFirst)},
        {DNNL_ARG_WEIGHTS, bLayout, at(b, bType, bFirst)},
        {DNNL_ARG_DST, cLayout, at(operands[2].place, cType, cFirst)},
        {DNNL_ARG_SCRATCHPAD, scratchpad, list.allocateScratch(int64_t(scratchpad.get_size()))}};
    if (epilogue.hasBias())
      arguments.push_back({DNNL_ARG_BIAS, nativeBias,
                           at(epilogue.biasPlace(), epilogue.biasType(), piece.columns.begin)});
    epilogue.appendArguments(arguments, cLayout, biasLayout, cFirst, piece.columns.begin);
    return makeLibraryTask(primitive, arguments);
  }

  struct Compiled {
    dnnl::primitive primitive;
    memory::desc scratchpad;
  };

  Product product;
  const std::vector<Operand> &operands;
  TaskList &list;
  Epilogue epilogue;
  Place a, b;
  std::map<std::array<int64_t, 3>, Compiled> compiled; ///< by the piece's sizes
};

} // namespace

Status buildMatmul(const LibraryCall &call, const std::vector<Operand> &operands, TaskList &list) {
  StatusOr<Product> product = parseProduct(call, operands);
  if (!product.ok())
    return product.status();
  MatmulBuilder(*product, call, operands, list).build();
  return {};
}

} // namespace sinter::rt::onednn
