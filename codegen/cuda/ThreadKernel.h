// A CUDA kernel: what one thread of a block does, over the x dimension alone.
//
// Parameters are one pointer to global memory an operand, then the values of all of the program's
// symbols as i64, so that a launch needs nothing but the command's buffers and the call's symbols.
// Buffers are aligned to 256 bytes; vectors of up to 16 bytes are accessed at once where the index
// is provably a multiple of their length.
#pragma once

#include "kernel/KernelEmitter.h"

namespace sinter::codegen {

class ThreadKernel : public KernelEmitter {
public:
  /// Starts kernel `name` in `module` for blocks of `threads` threads: operands are the tensors
  /// `inputs`, then `others` buffers more.
  ThreadKernel(mlir::ModuleOp module, llvm::StringRef name, mlir::Location loc,
               mlir::ValueRange inputs, unsigned others, unsigned symbols, int64_t threads);

  mlir::Value block() const { return blockIndex; }   ///< of type index
  mlir::Value thread() const { return threadIndex; } ///< in the block
  int64_t threads() const { return blockSize; }

  /// The buffer of an operand, as the kernel was given it.
  mlir::Value buffer(unsigned operand) { return function.getArgument(operand); }
  /// From here on operand i is `buffers[i]`.
  void rebind(llvm::ArrayRef<mlir::Value> buffers) {
    pointers.assign(buffers.begin(), buffers.end());
  }

  void barrier();
  /// `body` in the threads where `condition` (i1) holds.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  mlir::Value less(mlir::Value a, mlir::Value b); ///< of indices, below 2^63
  mlir::Value inverse(mlir::Value condition);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value quotient(mlir::Value a, int64_t b);
  mlir::Value remainder(mlir::Value a, int64_t b);

  /// Adds to an element of an operand that other threads add to, of type f32, f64, i32 or i64.
  void atomicAdd(unsigned operand, mlir::Value tensor, llvm::ArrayRef<ir::Index> at,
                 mlir::Value value);

  /// Shared memory for `count` elements of `type`; every call makes an array of its own.
  mlir::Value shared(mlir::Type type, int64_t count);
  mlir::Value loadShared(mlir::Value array, mlir::Type type, mlir::Value position);
  void storeShared(mlir::Value array, mlir::Value value, mlir::Value position);
  /// An i32 with a bit for each lane of the warp where `condition` holds; all lanes must be here.
  mlir::Value ballot(mlir::Value condition);
  /// The value that lane `own lane ^ distance` of the warp has; all lanes of the warp must be here.
  mlir::Value exchange(mlir::Value value, int64_t distance);

private:
  mlir::Value symbol(unsigned position) override;
  unsigned alignment(mlir::Type type, mlir::Value linear) const override;
  bool prefersNarrowIndices() const override { return true; }
  mlir::Value exchangeWord(mlir::Value word, int64_t distance);

  mlir::ModuleOp module;
  unsigned operands;
  int64_t blockSize;
  unsigned sharedArrays = 0;
  mlir::Value blockIndex, threadIndex;
};

/// A number that divides `index`, found from how it is computed; 0 divides all.
int64_t knownDivisor(mlir::Value index);

} // namespace sinter::codegen
