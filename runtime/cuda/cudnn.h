// cuDNN's entry points and its descriptors as objects. The table outlives what is made by it; a
// descriptor belongs to its holder. One caller at a time an object.
#pragma once

#include "cudnn_types.h"
#include "sinter/base/status.h"
#include "sinter/cuda/library.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt::cuda {

struct Dnn {
#define SINTER_CUDNN_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  SINTER_CUDNN_ENTRY_POINTS(SINTER_CUDNN_MEMBER)
#undef SINTER_CUDNN_MEMBER
  std::string path;

  /// cuDNN 9, from where `libraryCandidates` looks. NotFound, or Unsupported if it is another.
  static StatusOr<std::shared_ptr<const Dnn>> load(std::string_view searchPath);
  /// Unsupported for what the library lacks; the message holds the library's own words.
  Status check(DnnStatus status, std::string_view action) const;
  std::string version() const; ///< "cuDNN 9.19.0"
};

/// One backend descriptor. The first error of a `set` is kept and returned by `finish`, so that a
/// description reads as a list.
class DnnObject {
public:
  DnnObject(const Dnn &dnn, DnnDescriptorType type);
  ~DnnObject();
  DnnObject(DnnObject &&other) noexcept;
  DnnObject(const DnnObject &) = delete;
  DnnObject &operator=(const DnnObject &) = delete;

  void setRaw(DnnAttribute attribute, DnnValue type, int64_t count, const void *values);
  void setAll(DnnAttribute attribute, std::span<const int64_t> values) {
    setRaw(attribute, DnnValue::Int64, int64_t(values.size()), values.data());
  }
  void set(DnnAttribute attribute, int64_t value) { setAll(attribute, std::span(&value, 1)); }
  void set(DnnAttribute attribute, float value) { setRaw(attribute, DnnValue::Float, 1, &value); }
  void set(DnnAttribute attribute, bool value) { setRaw(attribute, DnnValue::Boolean, 1, &value); }
  void set(DnnAttribute attribute, DnnType value) {
    setRaw(attribute, DnnValue::DataType, 1, &value);
  }
  void set(DnnAttribute attribute, const DnnObject &object) {
    setRaw(attribute, DnnValue::Descriptor, 1, &object.descriptor);
  }
  Status finish(std::string_view action);
  DnnDescriptor get() const { return descriptor; }

private:
  const Dnn *dnn;
  DnnDescriptor descriptor = nullptr;
  DnnStatus error = DnnStatus::Success;
};

/// The operation graph of a convolution and what it is made of. Tensors have the ids of their
/// positions among the operands, intermediate ones follow.
class ConvolutionGraph {
public:
  explicit ConvolutionGraph(const Dnn &dnn) : dnn(dnn) {}
  /// `handle` is null when there is no device.
  Status make(const CudaConvolution &convolution, DnnHandle handle);
  const DnnObject &graph() const { return objects.back(); }
  int64_t operandCount() const { return operands; }

private:
  Status addTensor(std::span<const int64_t> dims, std::span<const int64_t> strides, DnnType type,
                   int64_t alignment, bool isVirtual);
  Status addTensors(const CudaConvolution &convolution);
  Status addConvolution(const CudaConvolution &convolution);
  Status addPointwise(DnnPointwise mode, size_t x, std::optional<size_t> b, size_t y);
  Status addEpilogue(const CudaConvolution &convolution);

  const Dnn &dnn;
  std::vector<DnnObject> objects; ///< in the order they were made
  std::vector<size_t> tensors;    ///< of `objects`, by id
  std::vector<size_t> operations; ///< of `objects`
  std::vector<int64_t> resultDims, resultStrides;
  int64_t operands = 0;
  size_t convolved = 2; ///< id of what the convolution itself yields
};

/// The device properties that cuDNN asks for where it cannot ask a device, as it writes them.
std::string devicePropertiesJson(const CudaCard &card);

std::string describe(const CudaConvolution &convolution);

} // namespace sinter::rt::cuda
