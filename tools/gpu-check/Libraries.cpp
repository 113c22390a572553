#include "Libraries.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace sinter::gpucheck {

namespace {

constexpr rt::WorkOrigin kOrigin = {"gpu-check library", ""};
constexpr int kCandidates = 4;

using Floats = std::vector<float>;

/// Small fractions of both signs, so that sums cancel in part.
Floats numbers(int64_t count, uint32_t seed) {
  Floats values(static_cast<size_t>(count));
  for (float &value : values) {
    seed = seed * 1664525 + 1013904223;
    value = float(int32_t(seed >> 16) - 32768) / 32768;
  }
  return values;
}

/// Device copies of arrays, given back at the end.
class Buffers {
public:
  explicit Buffers(rt::CudaDevice &device) : device(device) {}
  ~Buffers() {
    for (void *memory : all)
      device.free(memory);
  }
  StatusOr<void *> make(size_t bytes) {
    auto memory = device.allocate(std::max<size_t>(bytes, 1), kOrigin);
    if (memory.ok())
      all.push_back(*memory);
    return memory;
  }
  std::vector<void *> all;

private:
  rt::CudaDevice &device;
};

/// Runs every candidate on the inputs, its output behind them, and compares with `wanted`:
/// |got - wanted| <= 1e-5 of the sum of the terms' sizes, `terms`.
Status runAll(rt::CudaDevice &device,
              const std::vector<std::unique_ptr<rt::DevicePrimitive>> &candidates,
              const std::vector<Floats> &inputs, const Floats &wanted, const Floats &terms,
              double &worst) {
  if (candidates.empty())
    return makeError(Code::Unsupported, "the library has no candidate for it");
  for (const auto &candidate : candidates) {
    Buffers buffers(device);
    // The output starts as NaN: what is not written is found.
    Floats got(wanted.size(), std::numeric_limits<float>::quiet_NaN());
    for (size_t i = 0; i <= inputs.size(); ++i) {
      const Floats &values = i < inputs.size() ? inputs[i] : got;
      size_t bytes = values.size() * sizeof(float);
      auto memory = buffers.make(bytes);
      if (!memory.ok())
        return memory.status();
      SINTER_RETURN_IF_ERROR(device.copyToDevice(*memory, values.data(), bytes, kOrigin));
    }
    void *output = buffers.all.back();
    auto scratch = buffers.make(size_t(candidate->scratchBytes()));
    if (!scratch.ok())
      return scratch.status();
    SINTER_RETURN_IF_ERROR(candidate->run(buffers.all.data(), *scratch, kOrigin));
    SINTER_RETURN_IF_ERROR(
        device.copyToHost(got.data(), output, got.size() * sizeof(float), kOrigin));
    SINTER_RETURN_IF_ERROR(device.synchronize());
    for (size_t i = 0; i < got.size(); ++i) {
      double share = std::abs(double(got[i]) - wanted[i]) / (1e-5 * terms[i]);
      worst = std::max(worst, std::isnan(share) ? INFINITY : share);
      if (!(share <= 1))
        return makeError(Code::Internal, "element ", i, ": got ", got[i], ", expected ", wanted[i],
                         ", bound ", 1e-5 * terms[i]);
    }
  }
  return {};
}

} // namespace

LibraryVerdict checkMatmulLibrary(rt::CudaDevice &device, const rt::CudaLibraryOptions &options) {
  LibraryVerdict verdict;
  auto library = rt::CudaMatmulLibrary::open(device, options);
  verdict.status = library.status();
  if (!library.ok())
    return verdict;
  verdict.version = (*library)->version();
  rt::CudaMatmul matmul;
  matmul.rows = 64;
  matmul.columns = 48;
  matmul.inner = 80;
  auto candidates = (*library)->candidates(matmul, kCandidates);
  verdict.status = candidates.status();
  if (!candidates.ok())
    return verdict;
  Floats a = numbers(matmul.rows * matmul.inner, 1), b = numbers(matmul.inner * matmul.columns, 2);
  Floats wanted, terms;
  for (int64_t row = 0; row < matmul.rows; ++row)
    for (int64_t column = 0; column < matmul.columns; ++column) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < matmul.inner; ++k) {
        double term =
            double(a[size_t(row * matmul.inner + k)]) * b[size_t(k * matmul.columns + column)];
        sum += term;
        size += std::abs(term);
      }
      wanted.push_back(float(sum));
      terms.push_back(float(size));
    }
  verdict.status = runAll(device, *candidates, {a, b}, wanted, terms, verdict.worst);
  return verdict;
}

/// y of a 3x3 convolution with padding 1, NHWC and OHWI, and the sizes of its terms.
static void convolveOnHost(const rt::CudaConvolution &c, const Floats &x, const Floats &w,
                           Floats &wanted, Floats &terms) {
  auto element = [&](int64_t n, int64_t o, int64_t y, int64_t z) {
    double sum = 0, size = 0;
    for (int64_t i = 0; i < c.kernelHeight * c.kernelWidth; ++i) {
      int64_t ky = i / c.kernelWidth, kz = i % c.kernelWidth;
      int64_t row = y + ky - c.padTop, column = z + kz - c.padLeft;
      if (row < 0 || row >= c.height || column < 0 || column >= c.width)
        continue;
      for (int64_t channel = 0; channel < c.channels; ++channel) {
        int64_t at = ((n * c.height + row) * c.width + column) * c.channels + channel;
        int64_t weight = ((o * c.kernelHeight + ky) * c.kernelWidth + kz) * c.channels + channel;
        double term = double(x[size_t(at)]) * w[size_t(weight)];
        sum += term;
        size += std::abs(term);
      }
    }
    wanted.push_back(float(sum));
    terms.push_back(float(size));
  };
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t y = 0; y < c.outputHeight(); ++y)
      for (int64_t z = 0; z < c.outputWidth(); ++z)
        for (int64_t o = 0; o < c.outputChannels; ++o)
          element(n, o, y, z);
}

LibraryVerdict checkConvolutionLibrary(rt::CudaDevice &device,
                                       const rt::CudaLibraryOptions &options) {
  LibraryVerdict verdict;
  auto library = rt::CudaConvolutionLibrary::open(device, options);
  verdict.status = library.status();
  if (!library.ok())
    return verdict;
  verdict.version = (*library)->version();
  rt::CudaConvolution c;
  c.batch = 2;
  c.channels = 16;
  c.height = c.width = 12;
  c.outputChannels = 32;
  c.kernelHeight = c.kernelWidth = 3;
  c.padTop = c.padLeft = c.padBottom = c.padRight = 1;
  auto candidates = (*library)->candidates(c, kCandidates);
  verdict.status = candidates.status();
  if (!candidates.ok())
    return verdict;
  Floats x = numbers(c.batch * c.height * c.width * c.channels, 3);
  Floats w = numbers(c.outputChannels * c.kernelHeight * c.kernelWidth * c.channels, 4);
  Floats wanted, terms;
  convolveOnHost(c, x, w, wanted, terms);
  verdict.status = runAll(device, *candidates, {x, w}, wanted, terms, verdict.worst);
  return verdict;
}

} // namespace sinter::gpucheck
