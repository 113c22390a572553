// Whatever stands behind a program's header: an error, or a program that can be
// evaluated and is written as it was read. The header is made here, since no
// fuzzer guesses a checksum.
#include "sinter/core/hash.h"
#include "sinter/core/program.h"

#include <cstdlib>
#include <cstring>

using namespace sinter;
using namespace sinter::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t headerBytes = 24, checksumOffset = 16;
  std::vector<std::byte> bytes = serialize({});
  bytes.resize(headerBytes + size);
  if (size)
    std::memcpy(bytes.data() + headerBytes, data, size);
  uint64_t checksum = hashBytes(bytes.data() + headerBytes, size);
  std::memcpy(bytes.data() + checksumOffset, &checksum, sizeof checksum);
  StatusOr<Program> program = deserialize(bytes.data(), bytes.size());
  if (!program.ok())
    return program.status().message().empty() ? std::abort(), 0 : 0;
  if (serialize(*program) != bytes)
    std::abort();
  std::vector<int64_t> symbols, values;
  for (const Symbol &symbol : program->symbols)
    symbols.push_back(symbol.lower);
  evaluate(*program, symbols.data(), values);
  return 0;
}
