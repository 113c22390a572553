// A fake cuBLASLt on the fake driver: multiplies, column-major, as the descriptors say, when the
// stream runs. What it is asked for can be read back; `fakeBlasConnect` tells it which fake driver
// holds the memory. One thread.
#include "cublaslt_types.h"
#include "fake_cuda.h"
#include "sinter/base/float16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <string>

namespace sinter::rt::cuda {

struct BlasHandleObject {
  int unused = 0;
};
struct BlasMatmulDescriptorObject {
  BlasCompute compute;
  std::map<BlasMatmulAttribute, uint64_t> values;
  uint64_t get(BlasMatmulAttribute attribute) const {
    auto found = values.find(attribute);
    return found == values.end() ? 0 : found->second;
  }
};
struct BlasLayoutObject {
  BlasType type;
  int64_t rows, columns, stride;
  std::map<BlasLayoutAttribute, uint64_t> values;
  int64_t get(BlasLayoutAttribute attribute) const {
    auto found = values.find(attribute);
    return found == values.end() ? 0 : int64_t(found->second);
  }
};
struct BlasPreferenceObject {
  std::map<BlasPreferenceAttribute, uint64_t> values;
};

} // namespace sinter::rt::cuda

using namespace sinter::rt::cuda;

namespace {

FakeCudaResolve *resolve = nullptr;
FakeCudaEnqueue *enqueue = nullptr;
BlasStatus scripted = BlasStatus::Success;
std::map<std::string, int64_t> seen;

template <class Map, class Key>
BlasStatus store(Map &map, Key key, const void *value, size_t bytes) {
  if (bytes > sizeof(uint64_t))
    return BlasStatus::InvalidValue;
  uint64_t number = 0;
  std::memcpy(&number, value, bytes);
  map[key] = number;
  return BlasStatus::Success;
}

size_t sizeOf(BlasType type) { return type == BlasType::F32 ? 4 : 2; }

float read(const std::byte *memory, BlasType type, int64_t at) {
  if (type == BlasType::F32)
    return reinterpret_cast<const float *>(memory)[at];
  uint16_t bits = reinterpret_cast<const uint16_t *>(memory)[at];
  return type == BlasType::F16 ? sinter::halfToFloat(bits) : sinter::bfloat16ToFloat(bits);
}

void write(std::byte *memory, BlasType type, int64_t at, float value) {
  if (type == BlasType::F32)
    reinterpret_cast<float *>(memory)[at] = value;
  else
    reinterpret_cast<uint16_t *>(memory)[at] =
        type == BlasType::F16 ? sinter::floatToHalf(value) : sinter::floatToBFloat16(value);
}

/// One call, its descriptors copied.
struct Multiply {
  BlasMatmulDescriptorObject operation;
  BlasLayoutObject a, b, d;
  uint64_t aAddress, bAddress, cAddress, dAddress;
  float beta;

  const std::byte *matrix(uint64_t address, const BlasLayoutObject &layout, int64_t batch) const {
    int64_t offset = batch * layout.get(BlasLayoutAttribute::StridedBatchOffset);
    return resolve(address + uint64_t(offset) * sizeOf(layout.type),
                   size_t(layout.stride * layout.columns) * sizeOf(layout.type));
  }
  float activate(float value) const {
    auto epilogue = uint32_t(operation.get(BlasMatmulAttribute::Epilogue));
    if (epilogue & uint32_t(BlasEpilogue::Relu))
      return std::max(value, 0.f);
    if (epilogue & uint32_t(BlasEpilogue::Gelu))
      return 0.5f * value *
             (1 + std::tanh(0.7978845608f * (value + 0.044715f * value * value * value)));
    return value;
  }
  int run() const {
    bool transposeA = operation.get(BlasMatmulAttribute::TransposeA);
    bool transposeB = operation.get(BlasMatmulAttribute::TransposeB);
    int64_t inner = transposeA ? a.rows : a.columns;
    bool hasBias = operation.get(BlasMatmulAttribute::Epilogue) & uint32_t(BlasEpilogue::Bias);
    const std::byte *bias = hasBias ? resolve(operation.get(BlasMatmulAttribute::BiasPointer),
                                              size_t(d.rows) * sizeOf(d.type))
                                    : nullptr;
    int64_t batches = std::max<int64_t>(1, d.get(BlasLayoutAttribute::BatchCount));
    for (int64_t batch = 0; batch < batches; ++batch) {
      const std::byte *pa = matrix(aAddress, a, batch), *pb = matrix(bAddress, b, batch),
                      *pc = matrix(cAddress, d, batch);
      auto *pd = const_cast<std::byte *>(matrix(dAddress, d, batch));
      if (!pa || !pb || !pc || !pd || (hasBias && !bias))
        return 700;
      for (int64_t column = 0; column < d.columns; ++column)
        for (int64_t row = 0; row < d.rows; ++row) {
          float sum = 0;
          for (int64_t k = 0; k < inner; ++k)
            sum += read(pa, a.type, transposeA ? k + row * a.stride : row + k * a.stride) *
                   read(pb, b.type, transposeB ? column + k * b.stride : k + column * b.stride);
          int64_t at = row + column * d.stride;
          if (beta != 0)
            sum += beta * read(pc, d.type, at);
          if (bias)
            sum += read(bias, d.type, row);
          write(pd, d.type, at, activate(sum));
        }
    }
    return 0;
  }
};

} // namespace

FAKE_CUDA_EXPORT void fakeBlasConnect(FakeCudaResolve *resolver, FakeCudaEnqueue *enqueuer) {
  resolve = resolver;
  enqueue = enqueuer;
  scripted = BlasStatus::Success;
  seen.clear();
}
/// What the next heuristic call and the handles return.
FAKE_CUDA_EXPORT void fakeBlasFail(int status) { scripted = BlasStatus(status); }
/// "workspace", "alignment", "compute": what was asked for last; "objects": descriptors that live.
FAKE_CUDA_EXPORT int64_t fakeBlasSeen(const char *name) { return seen[name]; }

#define FAKE FAKE_CUDA_EXPORT

FAKE size_t cublasLtGetVersion() { return 130100; }
FAKE BlasStatus cublasLtCreate(BlasHandle *handle) {
  *handle = new BlasHandleObject;
  seen["objects"] += 1;
  return BlasStatus::Success;
}
FAKE BlasStatus cublasLtDestroy(BlasHandle handle) {
  seen["objects"] -= 1;
  delete handle;
  return BlasStatus::Success;
}
FAKE const char *cublasLtGetStatusName(BlasStatus status) {
  return status == BlasStatus::NotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_?";
}
FAKE BlasStatus cublasLtMatmulDescCreate(BlasMatmulDescriptor *descriptor, BlasCompute compute,
                                         BlasType) {
  *descriptor = new BlasMatmulDescriptorObject{compute, {}};
  seen["objects"] += 1;
  seen["compute"] = int64_t(compute);
  return BlasStatus::Success;
}
FAKE BlasStatus cublasLtMatmulDescDestroy(BlasMatmulDescriptor descriptor) {
  seen["objects"] -= 1;
  delete descriptor;
  return BlasStatus::Success;
}
FAKE BlasStatus cublasLtMatmulDescSetAttribute(BlasMatmulDescriptor descriptor,
                                               BlasMatmulAttribute attribute, const void *value,
                                               size_t bytes) {
  return store(descriptor->values, attribute, value, bytes);
}
FAKE BlasStatus cublasLtMatrixLayoutCreate(BlasLayout *layout, BlasType type, uint64_t rows,
                                           uint64_t columns, int64_t stride) {
  *layout = new BlasLayoutObject{type, int64_t(rows), int64_t(columns), stride, {}};
  seen["objects"] += 1;
  return BlasStatus::Success;
}
FAKE BlasStatus cublasLtMatrixLayoutDestroy(BlasLayout layout) {
  seen["objects"] -= 1;
  delete layout;
  return BlasStatus::Success;
}
FAKE BlasStatus cublasLtMatrixLayoutSetAttribute(BlasLayout layout, BlasLayoutAttribute attribute,
                                                 const void *value, size_t bytes) {
  return store(layout->values, attribute, value, bytes);
}
FAKE BlasStatus cublasLtMatmulPreferenceCreate(BlasPreference *preference) {
  *preference = new BlasPreferenceObject;
  seen["objects"] += 1;
  return BlasStatus::Success;
}
FAKE BlasStatus cublasLtMatmulPreferenceDestroy(BlasPreference preference) {
  seen["objects"] -= 1;
  delete preference;
  return BlasStatus::Success;
}
FAKE BlasStatus cublasLtMatmulPreferenceSetAttribute(BlasPreference preference,
                                                     BlasPreferenceAttribute attribute,
                                                     const void *value, size_t bytes) {
  return store(preference->values, attribute, value, bytes);
}

/// Algorithm i needs i KiB of workspace; the second one is not supported.
FAKE BlasStatus cublasLtMatmulAlgoGetHeuristic(BlasHandle, BlasMatmulDescriptor, BlasLayout a,
                                               BlasLayout b, BlasLayout c, BlasLayout d,
                                               BlasPreference preference, int asked,
                                               BlasHeuristicResult *results, int *found) {
  if (scripted != BlasStatus::Success)
    return scripted;
  if (a->rows * a->columns == 0 || b->rows * b->columns == 0 || c->rows != d->rows)
    return BlasStatus::InvalidValue;
  uint64_t limit = preference->values[BlasPreferenceAttribute::MaxWorkspaceBytes];
  seen["workspace"] = int64_t(limit);
  seen["alignment"] = int64_t(preference->values[BlasPreferenceAttribute::MinAlignmentD]);
  *found = 0;
  for (int i = 1; i <= std::min(asked, 4) && uint64_t(i) * 1024 <= limit; ++i) {
    results[*found] = {{{uint64_t(i)}}, size_t(i) * 1024, BlasStatus::Success, 1, {}};
    results[(*found)++].status = i == 2 ? BlasStatus::NotSupported : BlasStatus::Success;
  }
  return BlasStatus::Success;
}

FAKE BlasStatus cublasLtMatmul(BlasHandle, BlasMatmulDescriptor descriptor, const void *,
                               const void *a, BlasLayout layoutA, const void *b, BlasLayout layoutB,
                               const void *beta, const void *c, BlasLayout, void *d,
                               BlasLayout layoutD, const BlasAlgorithm *algorithm, void *workspace,
                               size_t workspaceBytes, CuStream stream) {
  if (workspaceBytes < algorithm->data[0] * 1024 ||
      !resolve(reinterpret_cast<uint64_t>(workspace), workspaceBytes))
    return BlasStatus::InvalidValue;
  auto address = [](const void *pointer) { return reinterpret_cast<uint64_t>(pointer); };
  static std::deque<Multiply> calls; // kept: a captured one may run again
  Multiply &call =
      calls.emplace_back(Multiply{*descriptor, *layoutA, *layoutB, *layoutD, address(a), address(b),
                                  address(c), address(d), *static_cast<const float *>(beta)});
  // Algorithms enqueue as many works as their number, so that the fake's clock tells them apart.
  for (uint64_t i = 1; i < algorithm->data[0]; ++i)
    enqueue(stream, [](void *) { return 0; }, nullptr);
  return BlasStatus(
      enqueue(stream, [](void *data) { return static_cast<Multiply *>(data)->run(); }, &call));
}
