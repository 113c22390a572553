// NVIDIA's libraries on a CudaDevice: cuBLASLt for products, cuDNN for convolutions, both opened at
// run time.
//
// A library that is not there is NotFound and what it does not support Unsupported: callers then
// use a generated kernel and say so in a line. Primitives belong to the caller and go before their
// library and device. One caller at a time a device. Callers that capture a step prepare before.
#pragma once

#include "sinter/core/library.h"
#include "sinter/cuda/device.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

struct CudaLibraryOptions {
  std::string searchPath = {};                  ///< CudaOptions::libraries
  int64_t workspaceLimit = int64_t(4096) << 20; ///< bytes a primitive may need
  bool deterministic = false;                   ///< same bits from the same call
  bool allowTf32 = false;                       ///< f32 products by 19-bit tensor cores
  /// Time what the heuristic ranks first on memory of its own, and take the fastest.
  bool exhaustive = false;
};

/// C = op(A) op(B), then what follows, all row-major and dense.
struct CudaMatmul {
  enum class Activation {
    None,
    Relu,
    GeluTanh ///< cuBLASLt's is the tanh form, not erf
  };
  DType input = DType::F32, output = DType::F32; ///< f32, f16, bf16; sums are f32
  int64_t rows = 0, columns = 0, inner = 0, batch = 1;
  bool transposeA = false, transposeB = false; ///< stored as [inner, rows], [columns, inner]
  bool bias = false;                           ///< one value a column, of the output's type
  bool add = false;                            ///< a matrix like the result
  Activation activation = Activation::None;
  uint32_t alignment = 16; ///< of every pointer, in bytes; more allows faster kernels
};

class CudaMatmulLibrary {
public:
  virtual ~CudaMatmulLibrary() = default;
  static StatusOr<std::unique_ptr<CudaMatmulLibrary>> open(CudaDevice &device,
                                                           const CudaLibraryOptions &options);
  virtual std::string version() const = 0; ///< "cuBLASLt 13.1.0"
  /// What the library's heuristic ranks first, at most `most`. Operands: A, B, C, then bias and
  /// added matrix as far as asked for.
  virtual StatusOr<std::vector<std::unique_ptr<DevicePrimitive>>>
  candidates(const CudaMatmul &matmul, int most) = 0;
};

/// A convolution or one of its gradients, 2-d, dense, with f32 sums.
struct CudaConvolution {
  enum class Kind { Forward, InputGradient, WeightGradient };
  Kind kind = Kind::Forward;
  DType dtype = DType::F32;                               ///< of all operands
  int64_t batch = 0, channels = 0, height = 0, width = 0; ///< of x
  int64_t outputChannels = 0, kernelHeight = 0, kernelWidth = 0;
  int64_t strideHeight = 1, strideWidth = 1, dilationHeight = 1, dilationWidth = 1;
  int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  int64_t groups = 1;
  bool channelsLast = true;       ///< x and y are NHWC, else NCHW
  bool weightChannelsLast = true; ///< w is OHWI, else OIHW
  bool bias = false;              ///< Forward: one value an output channel
  bool add = false;               ///< Forward: a tensor like y
  bool relu = false;              ///< Forward: last
  int64_t alignment = 16;         ///< of every pointer, in bytes

  int64_t outputHeight() const;
  int64_t outputWidth() const;
};

class CudaConvolutionLibrary {
public:
  virtual ~CudaConvolutionLibrary() = default;
  static StatusOr<std::unique_ptr<CudaConvolutionLibrary>> open(CudaDevice &device,
                                                                const CudaLibraryOptions &options);
  /// Without any device: primitives can be prepared for `card` and asked for their scratch, but not
  /// run. Needs cuDNN 9.8.
  static StatusOr<std::unique_ptr<CudaConvolutionLibrary>>
  openFor(const CudaCard &card, const CudaLibraryOptions &options);
  virtual std::string version() const = 0; ///< "cuDNN 9.19.0"
  /// Operands: Forward x, w, y, then bias and added tensor as far as asked for; InputGradient dy,
  /// w, dx; WeightGradient x, dy, dw.
  virtual StatusOr<std::vector<std::unique_ptr<DevicePrimitive>>>
  candidates(const CudaConvolution &convolution, int most) = 0;
};

/// Both, as the executor reaches them: each is opened by the first call that needs it.
class CudaLibraries final : public DeviceLibrary {
public:
  /// `device` outlives it and what it prepares.
  explicit CudaLibraries(CudaDevice &device, CudaLibraryOptions options = {})
      : device(device), options(std::move(options)) {}
  ~CudaLibraries() override;

  /// Whether they are there; NotFound says what was looked for and where.
  Status openProducts();
  Status openConvolutions();
  StatusOr<std::unique_ptr<DevicePrimitive>>
  prepare(const LibraryCall &call, std::span<const LibraryOperand> operands) override;

private:
  StatusOr<std::vector<std::unique_ptr<DevicePrimitive>>>
  candidates(const LibraryCall &call, std::span<const LibraryOperand> operands);
  StatusOr<size_t> fastest(std::span<const std::unique_ptr<DevicePrimitive>> candidates,
                           std::span<const LibraryOperand> operands);

  CudaDevice &device;
  CudaLibraryOptions options;
  std::unique_ptr<CudaMatmulLibrary> products;
  std::unique_ptr<CudaConvolutionLibrary> convolutions;
};

/// Whether the libraries take calls like this one on operands of `dtype`, as far as can be told
/// without them: what the compiler asks.
bool cudaLibrariesTake(const LibraryCall &call, DType dtype);

/// What a program's library call asks for; Unsupported names what the libraries lack.
StatusOr<CudaMatmul> matmulOf(const LibraryCall &call, std::span<const LibraryOperand> operands);
StatusOr<CudaConvolution> convolutionOf(const LibraryCall &call,
                                        std::span<const LibraryOperand> operands);

/// The exhaustive choice: the index of the candidate that is fastest on these buffers, whose
/// contents are lost. The lower index wins a tie.
StatusOr<size_t> fastestOf(CudaDevice &device,
                           std::span<const std::unique_ptr<DevicePrimitive>> candidates,
                           void *const *buffers, void *scratch, const WorkOrigin &origin);

} // namespace sinter::rt
