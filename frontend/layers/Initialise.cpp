#include "layers/Initialise.h"

#include "sinter/core/hash.h"

#include <array>
#include <cmath>
#include <numbers>

namespace sinter {

Init Init::fanIn(int64_t fanIn) {
  double bound = fanIn > 0 ? 1 / std::sqrt(double(fanIn)) : 0;
  return uniform(-bound, bound);
}

namespace detail {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11).
static std::array<uint32_t, 4> philox(uint64_t counter, uint64_t stream, uint64_t key) {
  std::array<uint32_t, 4> x{uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream),
                            uint32_t(stream >> 32)};
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * x[0], p1 = uint64_t(0xCD9E8D57) * x[2];
    x = {uint32_t(p1 >> 32) ^ x[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ x[3] ^ k1,
         uint32_t(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

void initialise(const Array &array, const Init &init, uint64_t seed, std::string_view path) {
  int64_t count = array.elements();
  Array values = Array::empty(DType::F64, array.dims());
  double *out = values.data<double>();
  uint64_t stream = rt::hashText(path);
  for (int64_t i = 0; i < count; ++i) {
    if (init.kind == Init::Kind::Constant) {
      out[i] = init.a;
      continue;
    }
    std::array<uint32_t, 4> bits = philox(uint64_t(i), stream, seed);
    double first = (bits[0] >> 8) * 0x1p-24, second = (bits[1] >> 8) * 0x1p-24;
    if (init.kind == Init::Kind::Uniform)
      out[i] = init.a + (init.b - init.a) * first;
    else // Box and Muller
      out[i] = init.a + init.b * std::sqrt(-2 * std::log(1 - first)) *
                            std::cos(2 * std::numbers::pi * second);
  }
  Array converted = values.cast(array.dtype());
  array.copyFrom(converted.data(), size_t(converted.bytes()));
}

} // namespace detail
} // namespace sinter
