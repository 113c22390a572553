// Products by cuBLASLt. The library is column-major, we are row-major: a row-major matrix is the
// transpose of a column-major one, so that C = A B is computed as C' = B' A'.
#include "cublaslt_types.h"
#include "shared_library.h"
#include "sinter/base/text.h"
#include "sinter/cuda/library.h"

#include <array>
#include <optional>

namespace sinter::rt {
namespace cuda {
namespace {

struct Blas {
#define SINTER_CUBLASLT_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  SINTER_CUBLASLT_ENTRY_POINTS(SINTER_CUBLASLT_MEMBER)
#undef SINTER_CUBLASLT_MEMBER
  std::string path;

  static StatusOr<Blas> load(std::string_view searchPath);
  Status check(BlasStatus status, std::string_view action) const;
};

StatusOr<Blas> Blas::load(std::string_view searchPath) {
  const std::string names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
  StatusOr<SharedLibrary> library =
      SharedLibrary::open("cuBLASLt", libraryCandidates(names, searchPath));
  if (!library.ok())
    return makeError(Code::NotFound, library.status().message(),
                     ": install the CUDA toolkit or its Python wheels and name their folder in "
                     "--cuda-libraries or SINTER_CUDA_LIBRARIES");
  Blas blas;
  blas.path = library->path();
#define SINTER_CUBLASLT_FIND(result, name, parameters)                                             \
  blas.name = reinterpret_cast<result(*) parameters>(library->symbol(#name));                      \
  if (!blas.name)                                                                                  \
    return makeError(Code::Unsupported, blas.path, " has no " #name ": install cuBLAS 12 or later");
  SINTER_CUBLASLT_ENTRY_POINTS(SINTER_CUBLASLT_FIND)
#undef SINTER_CUBLASLT_FIND
  return blas;
}

Status Blas::check(BlasStatus status, std::string_view action) const {
  if (status == BlasStatus::Success)
    return {};
  bool lacks = status == BlasStatus::NotSupported || status == BlasStatus::ArchMismatch ||
               status == BlasStatus::InvalidValue;
  return makeError(status == BlasStatus::AllocFailed ? Code::OutOfMemory
                   : lacks                           ? Code::Unsupported
                                                     : Code::Internal,
                   "cuBLASLt cannot ", action, ": ", cublasLtGetStatusName(status));
}

std::optional<BlasType> typeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return BlasType::F32;
  case DType::F16:
    return BlasType::F16;
  case DType::BF16:
    return BlasType::BF16;
  default:
    return std::nullopt;
  }
}

BlasEpilogue epilogueOf(const CudaMatmul &matmul) {
  switch (matmul.activation) {
  case CudaMatmul::Activation::None:
    return matmul.bias ? BlasEpilogue::Bias : BlasEpilogue::Default;
  case CudaMatmul::Activation::Relu:
    return matmul.bias ? BlasEpilogue::ReluBias : BlasEpilogue::Relu;
  case CudaMatmul::Activation::GeluTanh:
    return matmul.bias ? BlasEpilogue::GeluBias : BlasEpilogue::Gelu;
  }
  return BlasEpilogue::Default;
}

std::string describe(const CudaMatmul &matmul) {
  return concat("multiply ", name(matmul.input), "[", matmul.rows, ", ", matmul.inner, "] by [",
                matmul.inner, ", ", matmul.columns, "]",
                matmul.batch > 1 ? concat(", ", matmul.batch, " times,") : "", " to ",
                name(matmul.output));
}

/// The descriptors of one product, shared by its candidates.
class Description {
public:
  explicit Description(const Blas &blas) : blas(blas) {}
  ~Description();
  Description(const Description &) = delete;
  Status make(const CudaMatmul &matmul, bool allowTf32);

  const Blas &blas;
  BlasMatmulDescriptor operation = nullptr;
  BlasLayout first = nullptr, second = nullptr, result = nullptr; ///< of B', A', C'

private:
  Status makeLayout(BlasLayout &layout, DType dtype, int64_t rows, int64_t columns, int64_t batch);
  template <class Value> Status set(BlasMatmulAttribute attribute, Value value) {
    return blas.check(
        blas.cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
        "describe a product");
  }
};

Description::~Description() {
  for (BlasLayout layout : {first, second, result})
    if (layout)
      blas.cublasLtMatrixLayoutDestroy(layout);
  if (operation)
    blas.cublasLtMatmulDescDestroy(operation);
}

/// `rows` and `columns` as stored, row-major.
Status Description::makeLayout(BlasLayout &layout, DType dtype, int64_t rows, int64_t columns,
                               int64_t batch) {
  SINTER_RETURN_IF_ERROR(
      blas.check(blas.cublasLtMatrixLayoutCreate(&layout, *typeOf(dtype), uint64_t(columns),
                                                 uint64_t(rows), columns),
                 "describe a matrix"));
  if (batch == 1)
    return {};
  auto count = int32_t(batch);
  int64_t offset = rows * columns;
  BlasStatus status = blas.cublasLtMatrixLayoutSetAttribute(layout, BlasLayoutAttribute::BatchCount,
                                                            &count, sizeof count);
  if (status == BlasStatus::Success)
    status = blas.cublasLtMatrixLayoutSetAttribute(layout, BlasLayoutAttribute::StridedBatchOffset,
                                                   &offset, sizeof offset);
  return blas.check(status, "describe a batch of matrices");
}

Status Description::make(const CudaMatmul &matmul, bool allowTf32) {
  BlasCompute compute =
      allowTf32 && matmul.input == DType::F32 ? BlasCompute::F32FastTf32 : BlasCompute::F32;
  SINTER_RETURN_IF_ERROR(blas.check(
      blas.cublasLtMatmulDescCreate(&operation, compute, BlasType::F32), "describe a product"));
  auto transpose = [](bool on) { return on ? BlasOperation::Transpose : BlasOperation::None; };
  SINTER_RETURN_IF_ERROR(set(BlasMatmulAttribute::TransposeA, transpose(matmul.transposeB)));
  SINTER_RETURN_IF_ERROR(set(BlasMatmulAttribute::TransposeB, transpose(matmul.transposeA)));
  SINTER_RETURN_IF_ERROR(set(BlasMatmulAttribute::Epilogue, epilogueOf(matmul)));
  if (matmul.bias) // stands for a pointer of this alignment until there is one
    SINTER_RETURN_IF_ERROR(set(BlasMatmulAttribute::BiasPointer,
                               reinterpret_cast<const void *>(uintptr_t(matmul.alignment))));
  auto stored = [](bool transposed, int64_t rows, int64_t columns) {
    return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
  };
  auto [bRows, bColumns] = stored(matmul.transposeB, matmul.inner, matmul.columns);
  auto [aRows, aColumns] = stored(matmul.transposeA, matmul.rows, matmul.inner);
  SINTER_RETURN_IF_ERROR(makeLayout(first, matmul.input, bRows, bColumns, matmul.batch));
  SINTER_RETURN_IF_ERROR(makeLayout(second, matmul.input, aRows, aColumns, matmul.batch));
  return makeLayout(result, matmul.output, matmul.rows, matmul.columns, matmul.batch);
}

class MatmulPrimitive final : public DevicePrimitive {
public:
  MatmulPrimitive(CudaDevice &device, BlasHandle handle, std::shared_ptr<Description> description,
                  const CudaMatmul &matmul, const BlasHeuristicResult &chosen)
      : device(device), handle(handle), description(std::move(description)), matmul(matmul),
        chosen(chosen) {}

  int64_t scratchBytes() const override { return int64_t(chosen.workspaceBytes); }
  Status run(void *const *buffers, void *scratch, const WorkOrigin &origin) override {
    SINTER_RETURN_IF_ERROR(device.makeCurrent());
    const Blas &blas = description->blas;
    size_t next = 3;
    if (matmul.bias) {
      const void *bias = buffers[next++];
      SINTER_RETURN_IF_ERROR(blas.check(
          blas.cublasLtMatmulDescSetAttribute(description->operation,
                                              BlasMatmulAttribute::BiasPointer, &bias, sizeof bias),
          "take a bias"));
    }
    const float one = 1, beta = matmul.add ? 1 : 0;
    void *result = buffers[2];
    const void *added = matmul.add ? buffers[next] : result;
    BlasStatus status =
        blas.cublasLtMatmul(handle, description->operation, &one, buffers[1], description->first,
                            buffers[0], description->second, &beta, added, description->result,
                            result, description->result, &chosen.algorithm, scratch,
                            chosen.workspaceBytes, static_cast<CuStream>(device.nativeStream()));
    if (Status done = blas.check(status, describe(matmul)); !done.ok())
      return makeError(done.code(), device.name(), ": '", origin.name, "' at ", origin.location,
                       ": ", done.message());
    return device.enqueued(origin);
  }

private:
  CudaDevice &device;
  BlasHandle handle;
  std::shared_ptr<Description> description;
  CudaMatmul matmul;
  BlasHeuristicResult chosen;
};

Status checkMatmul(const CudaMatmul &matmul) {
  if (!typeOf(matmul.input) || !typeOf(matmul.output))
    return makeError(Code::Unsupported, "cuBLASLt cannot ", describe(matmul),
                     ": f32, f16 and bf16 are used; cast the operands");
  if (matmul.rows <= 0 || matmul.columns <= 0 || matmul.inner <= 0 || matmul.batch <= 0 ||
      matmul.batch > INT32_MAX)
    return makeError(Code::Unsupported, "cuBLASLt cannot ", describe(matmul),
                     ": every size must be positive, and a batch below 2^31");
  return {};
}

class MatmulLibrary final : public CudaMatmulLibrary {
public:
  MatmulLibrary(CudaDevice &device, Blas blas, BlasHandle handle, const CudaLibraryOptions &options)
      : device(device), blas(std::move(blas)), handle(handle), options(options) {}
  ~MatmulLibrary() override { blas.cublasLtDestroy(handle); }

  std::string version() const override {
    size_t number = blas.cublasLtGetVersion(); // 10000 major + 100 minor + patch since 11.10
    return concat("cuBLASLt ", number / 10000, ".", number / 100 % 100, ".", number % 100);
  }

  StatusOr<std::vector<std::unique_ptr<DevicePrimitive>>> candidates(const CudaMatmul &matmul,
                                                                     int most) override {
    SINTER_RETURN_IF_ERROR(checkMatmul(matmul));
    SINTER_RETURN_IF_ERROR(device.makeCurrent());
    auto description = std::make_shared<Description>(blas);
    SINTER_RETURN_IF_ERROR(description->make(matmul, options.allowTf32));
    BlasPreference preference = nullptr;
    SINTER_RETURN_IF_ERROR(
        blas.check(blas.cublasLtMatmulPreferenceCreate(&preference), "make preferences"));
    Status prepared = prefer(preference, matmul);
    std::vector<BlasHeuristicResult> results(static_cast<size_t>(std::max(most, 1)));
    int found = 0;
    if (prepared.ok())
      prepared = blas.check(blas.cublasLtMatmulAlgoGetHeuristic(
                                handle, description->operation, description->first,
                                description->second, description->result, description->result,
                                preference, int(results.size()), results.data(), &found),
                            describe(matmul));
    blas.cublasLtMatmulPreferenceDestroy(preference);
    SINTER_RETURN_IF_ERROR(prepared);
    std::vector<std::unique_ptr<DevicePrimitive>> primitives;
    for (int i = 0; i < found; ++i)
      if (results[i].status == BlasStatus::Success)
        primitives.push_back(
            std::make_unique<MatmulPrimitive>(device, handle, description, matmul, results[i]));
    if (primitives.empty())
      return makeError(Code::Unsupported, "cuBLASLt knows no way to ", describe(matmul), " in ",
                       formatBytes(options.workspaceLimit), " of workspace");
    return primitives;
  }

private:
  Status prefer(BlasPreference preference, const CudaMatmul &matmul) {
    auto limit = uint64_t(options.workspaceLimit);
    BlasStatus status = blas.cublasLtMatmulPreferenceSetAttribute(
        preference, BlasPreferenceAttribute::MaxWorkspaceBytes, &limit, sizeof limit);
    using Attribute = BlasPreferenceAttribute;
    for (Attribute attribute : {Attribute::MinAlignmentA, Attribute::MinAlignmentB,
                                Attribute::MinAlignmentC, Attribute::MinAlignmentD})
      if (status == BlasStatus::Success)
        status = blas.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &matmul.alignment,
                                                           sizeof(uint32_t));
    return blas.check(status, "set preferences");
  }

  CudaDevice &device;
  Blas blas;
  BlasHandle handle;
  CudaLibraryOptions options;
};

} // namespace
} // namespace cuda

StatusOr<std::unique_ptr<CudaMatmulLibrary>>
CudaMatmulLibrary::open(CudaDevice &device, const CudaLibraryOptions &options) {
  StatusOr<cuda::Blas> blas = cuda::Blas::load(options.searchPath);
  if (!blas.ok())
    return blas.status();
  SINTER_RETURN_IF_ERROR(device.makeCurrent());
  cuda::BlasHandle handle = nullptr;
  if (Status status = blas->check(blas->cublasLtCreate(&handle), "start"); !status.ok())
    return makeError(status.code(), device.name(), ": ", status.message(), " (", blas->path,
                     "): its CUDA version must be one the driver supports (",
                     formatCudaVersion(device.card().driverVersion), ")");
  return std::unique_ptr<CudaMatmulLibrary>(
      std::make_unique<cuda::MatmulLibrary>(device, *std::move(blas), handle, options));
}

} // namespace sinter::rt
