// A primitive of oneDNN as a Task, and the helpers that builders of calls share.
// oneDNN reports failure by exceptions; builders let them pass to the provider.
#pragma once

#include "task_list.h"

#include <dnnl.hpp>

namespace sinter::rt::onednn {

/// The process's one CPU engine.
const dnnl::engine &engine();
dnnl::memory::data_type dataType(DType dtype);
/// Whether this processor contracts bf16 without a detour through f32.
bool hasNativeBFloat16();

/// One argument of a primitive: oneDNN's name for it, its layout, its place.
struct Argument {
  int name;
  dnnl::memory::desc layout;
  Place place;
};

std::unique_ptr<Task> makeLibraryTask(const dnnl::primitive &primitive,
                                      const std::vector<Argument> &arguments);

/// C[rows, columns] = op(A) op(B) in f32, row-major and dense, by oneDNN's BLAS
/// call: half the overhead of a primitive, which is what counts for small products.
struct Gemm {
  bool transposeA, transposeB;
  int64_t rows, columns, depth;
};
std::unique_ptr<Task> makeGemmTask(const Gemm &gemm, Place a, Place b, Place c);

/// Copies between two layouts of the same values, cut along the first dimension
/// where the layouts allow it.
Phase reorderPhase(const dnnl::memory::desc &from, Place source, const dnnl::memory::desc &to,
                   Place destination);

/// Bias, residual and activation of a forward call in oneDNN's terms.
class Epilogue {
public:
  /// `operands[3...]` are the post-ops'.
  Epilogue(const LibraryCall &call, const std::vector<Operand> &operands);

  /// The first post-op if it is a Bias: the libraries' own fast path.
  bool hasBias() const { return nativeBias; }
  bool hasAdd() const;
  bool empty() const { return postOps.empty(); }
  DType biasType() const { return operands[3].dtype; }
  Place biasPlace() const { return operands[3].place; }

  /// Attributes for a piece whose result is `result` and whose later biases have
  /// the layout `bias` describes (type aside); a scratchpad given by the caller.
  dnnl::primitive_attr attributes(const dnnl::memory::desc &result,
                                  const dnnl::memory::desc &bias) const;
  /// The arguments of those attributes; `element` and `column` are the piece's
  /// first element and first column.
  void appendArguments(std::vector<Argument> &arguments, const dnnl::memory::desc &result,
                       const dnnl::memory::desc &bias, int64_t element, int64_t column) const;

private:
  std::vector<PostOp> postOps;
  const std::vector<Operand> &operands;
  bool nativeBias;
};

} // namespace sinter::rt::onednn
