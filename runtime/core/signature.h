// The types an entry takes and gives: checks a caller's arrays against them and
// reads the symbols' values off the inputs. Immutable after construction.
#pragma once

#include "sinter/core/executable.h"

#include <string>
#include <vector>

namespace sinter::rt {

class Signature {
public:
  Signature(const Program &program, const Entry &entry);

  /// Checks the inputs and sets one value a symbol; allocates nothing unless it
  /// fails. With `needData`, null and misaligned pointers are errors.
  Status bind(std::span<const Argument> inputs, bool needData, std::vector<int64_t> &symbols) const;
  /// Checks the outputs against the dimensions they must have.
  Status checkOutputs(std::span<const Argument> outputs, std::span<const Dims> expected) const;
  /// Outputs must not overlap each other or an input.
  Status checkOverlap(std::span<const Argument> inputs, std::span<const Argument> outputs) const;
  /// No input has a symbolic dimension.
  bool isStatic() const { return symbolic == 0; }

private:
  struct Dim {
    Index symbol = kNone;
    int64_t size = 0;    ///< if there is no symbol
    bool binder = false; ///< the first dimension that has the symbol: the others must agree
  };

  Status bindDim(size_t input, size_t axis, int64_t size, std::vector<int64_t> &symbols) const;
  Status countError(std::string_view what, std::span<const Port> ports, size_t got) const;
  template <class... Parts>
  Status portError(std::string_view what, const Port &port, const Argument &got,
                   const Parts &...parts) const;
  std::string binderOf(Index symbol) const;

  const Program &program;
  const Entry &entry;
  std::vector<std::vector<Dim>> inputDims;
  size_t symbolic = 0;
};

} // namespace sinter::rt
