// The safetensors format (8 bytes of length, a JSON header, dense data), read
// in place and written atomically.
//
// A file that was read is checked whole: every offset, size, name and dtype,
// gaps and overlaps, so that each view may be trusted. Views point into the
// mapping (or into the caller's bytes), which `storage` keeps alive. Errors name
// the file and the byte. Immutable once read: any thread may use it.
#pragma once

#include "sinter/base/status.h"
#include "sinter/core/tensor_view.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

using TextMap = std::map<std::string, std::string>;

struct Safetensors {
  std::vector<TensorView> tensors;     ///< sorted by name
  TextMap metadata;                    ///< the header's __metadata__
  std::shared_ptr<const void> storage; ///< null when the bytes are the caller's

  const TensorView *find(std::string_view name) const; ///< null: not there
};

StatusOr<Safetensors> readSafetensors(const std::string &path);
/// Reads `size` bytes the caller keeps alive; `origin` names them in errors.
StatusOr<Safetensors> parseSafetensors(const std::byte *data, size_t size, std::string_view origin);

/// Writes the tensors, largest elements first, then by name: equal input gives
/// equal bytes, every tensor is aligned to its element and the first to 64 bytes.
/// On any failure the file that was there stays as it was.
Status writeSafetensors(const std::string &path, std::vector<TensorView> tensors,
                        const TextMap &metadata = {});

} // namespace sinter::rt
