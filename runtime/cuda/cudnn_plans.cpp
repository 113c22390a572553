// Execution plans for convolutions: what cuDNN's heuristics propose, filtered by what is allowed.
#include "cudnn.h"
#include "sinter/base/text.h"

#include <algorithm>

namespace sinter::rt {
namespace cuda {
namespace {

/// The library on a device, or for a card that is not there.
struct Place {
  CudaDevice *device = nullptr;
  DnnHandle handle = nullptr;
  std::optional<DnnObject> properties; ///< where there is no device
};

class ConvolutionPrimitive final : public DevicePrimitive {
public:
  ConvolutionPrimitive(std::shared_ptr<const Dnn> dnn, const Place &place, DnnObject plan,
                       int64_t workspace, int64_t operands, const CudaConvolution &convolution)
      : dnn(std::move(dnn)), device(place.device), handle(place.handle), plan(std::move(plan)),
        workspace(workspace), operands(operands), convolution(convolution) {}

  int64_t scratchBytes() const override { return workspace; }

  Status run(void *const *buffers, void *scratch, const WorkOrigin &origin) override {
    if (!device)
      return makeError(Code::FailedPrecondition, "a plan made without a device cannot run: open "
                                                 "the library on one");
    SINTER_RETURN_IF_ERROR(device->makeCurrent());
    std::vector<int64_t> ids(static_cast<size_t>(operands));
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = int64_t(i);
    DnnObject pack(*dnn, DnnDescriptorType::VariantPack);
    pack.setAll(DnnAttribute::PackIds, ids);
    pack.setRaw(DnnAttribute::PackPointers, DnnValue::Pointer, operands, buffers);
    pack.setRaw(DnnAttribute::PackWorkspace, DnnValue::Pointer, 1, &scratch);
    Status status = pack.finish("take its operands");
    if (status.ok())
      status = dnn->check(dnn->cudnnBackendExecute(handle, plan.get(), pack.get()),
                          describe(convolution));
    if (!status.ok())
      return makeError(status.code(), device->name(), ": '", origin.name, "' at ", origin.location,
                       ": ", status.message());
    return device->enqueued(origin);
  }

private:
  std::shared_ptr<const Dnn> dnn;
  CudaDevice *device;
  DnnHandle handle;
  DnnObject plan;
  int64_t workspace, operands;
  CudaConvolution convolution;
};

class ConvolutionLibrary final : public CudaConvolutionLibrary {
public:
  ConvolutionLibrary(std::shared_ptr<const Dnn> dnn, Place place, const CudaLibraryOptions &options)
      : dnn(std::move(dnn)), place(std::move(place)), options(options) {}
  ~ConvolutionLibrary() override {
    if (place.handle)
      dnn->cudnnDestroy(place.handle);
  }

  std::string version() const override { return dnn->version(); }

  StatusOr<std::vector<std::unique_ptr<DevicePrimitive>>>
  candidates(const CudaConvolution &convolution, int most) override {
    if (place.device)
      SINTER_RETURN_IF_ERROR(place.device->makeCurrent());
    ConvolutionGraph graph(*dnn);
    SINTER_RETURN_IF_ERROR(graph.make(convolution, place.handle));
    std::vector<std::unique_ptr<DevicePrimitive>> found;
    Status reason;
    for (DnnHeuristic mode : {DnnHeuristic::A, DnnHeuristic::Fallback})
      if (found.empty()) {
        Status status = propose(mode, graph, convolution, std::max(most, 1), found);
        reason = reason.ok() ? status : reason;
      }
    if (found.empty())
      return makeError(Code::Unsupported, "cuDNN knows no way to ", describe(convolution), " in ",
                       formatBytes(options.workspaceLimit), " of workspace",
                       options.deterministic ? ", deterministically" : "", reason.ok() ? "" : ": ",
                       reason.message());
    return found;
  }

private:
  /// Adds plans in the heuristic's order; an error is that of the first proposal that failed.
  Status propose(DnnHeuristic mode, const ConvolutionGraph &graph,
                 const CudaConvolution &convolution, int most,
                 std::vector<std::unique_ptr<DevicePrimitive>> &found) {
    DnnObject heuristic(*dnn, DnnDescriptorType::EngineHeuristic);
    heuristic.set(DnnAttribute::HeuristicGraph, graph.graph());
    heuristic.setRaw(DnnAttribute::HeuristicMode, DnnValue::HeuristicMode, 1, &mode);
    if (place.properties)
      heuristic.set(DnnAttribute::HeuristicDeviceProperties, *place.properties);
    SINTER_RETURN_IF_ERROR(heuristic.finish(describe(convolution)));
    int64_t count = 0;
    SINTER_RETURN_IF_ERROR(
        dnn->check(dnn->cudnnBackendGetAttribute(heuristic.get(), DnnAttribute::HeuristicResults,
                                                 DnnValue::Descriptor, 0, &count, nullptr),
                   "count its proposals"));
    std::vector<DnnObject> configs;
    std::vector<DnnDescriptor> list;
    for (int64_t i = 0; i < count; ++i) {
      configs.emplace_back(*dnn, DnnDescriptorType::EngineConfig);
      list.push_back(configs.back().get());
    }
    SINTER_RETURN_IF_ERROR(
        dnn->check(dnn->cudnnBackendGetAttribute(heuristic.get(), DnnAttribute::HeuristicResults,
                                                 DnnValue::Descriptor, count, &count, list.data()),
                   "list its proposals"));
    // The first count was an upper bound.
    if (count == 0)
      return makeError(Code::Unsupported, "its heuristics propose nothing",
                       place.device ? ""
                                    : " (what it would compile at run time needs the driver "
                                      "library, without a card too)");
    Status reason;
    for (int64_t i = 0; i < count && int(found.size()) < most; ++i)
      if (allowed(configs[size_t(i)], convolution)) {
        Status status = addPlan(configs[size_t(i)], graph, convolution, found);
        reason = reason.ok() ? status : reason;
      }
    return reason;
  }

  /// By the engine's numerical notes.
  bool allowed(const DnnObject &config, const CudaConvolution &convolution) const {
    DnnObject engine(*dnn, DnnDescriptorType::Engine);
    DnnDescriptor descriptor = engine.get();
    int64_t count = 0;
    if (dnn->cudnnBackendGetAttribute(config.get(), DnnAttribute::ConfigEngine,
                                      DnnValue::Descriptor, 1, &count,
                                      &descriptor) != DnnStatus::Success)
      return false;
    DnnNote notes[kDnnNotes] = {};
    if (dnn->cudnnBackendGetAttribute(descriptor, DnnAttribute::EngineNumericalNotes,
                                      DnnValue::NumericalNote, kDnnNotes, &count,
                                      notes) != DnnStatus::Success)
      return false;
    bool exact = convolution.dtype == DType::F32 && !options.allowTf32;
    return std::none_of(notes, notes + std::min<int64_t>(count, kDnnNotes), [&](DnnNote note) {
      return (options.deterministic && note == DnnNote::Nondeterministic) ||
             (exact && (note == DnnNote::DownConvertInputs || note == DnnNote::TensorCore));
    });
  }

  Status addPlan(const DnnObject &config, const ConvolutionGraph &graph,
                 const CudaConvolution &convolution,
                 std::vector<std::unique_ptr<DevicePrimitive>> &found) {
    DnnObject plan(*dnn, DnnDescriptorType::ExecutionPlan);
    plan.set(DnnAttribute::PlanConfig, config);
    if (place.properties)
      plan.set(DnnAttribute::PlanDeviceProperties, *place.properties);
    else
      plan.setRaw(DnnAttribute::PlanHandle, DnnValue::Handle, 1, &place.handle);
    SINTER_RETURN_IF_ERROR(plan.finish(describe(convolution)));
    int64_t workspace = 0, count = 0;
    SINTER_RETURN_IF_ERROR(
        dnn->check(dnn->cudnnBackendGetAttribute(plan.get(), DnnAttribute::PlanWorkspaceBytes,
                                                 DnnValue::Int64, 1, &count, &workspace),
                   "tell its workspace"));
    if (workspace > options.workspaceLimit)
      return makeError(Code::Unsupported, "the first one that works needs ", formatBytes(workspace),
                       " of workspace");
    found.push_back(std::make_unique<ConvolutionPrimitive>(dnn, place, std::move(plan), workspace,
                                                           graph.operandCount(), convolution));
    return {};
  }

  std::shared_ptr<const Dnn> dnn;
  Place place;
  CudaLibraryOptions options;
};

} // namespace
} // namespace cuda

StatusOr<std::unique_ptr<CudaConvolutionLibrary>>
CudaConvolutionLibrary::open(CudaDevice &device, const CudaLibraryOptions &options) {
  using namespace cuda;
  StatusOr<std::shared_ptr<const Dnn>> dnn = Dnn::load(options.searchPath);
  if (!dnn.ok())
    return dnn.status();
  SINTER_RETURN_IF_ERROR(device.makeCurrent());
  Place place;
  place.device = &device;
  Status status = (*dnn)->check((*dnn)->cudnnCreate(&place.handle), "start");
  if (status.ok())
    status = (*dnn)->check(
        (*dnn)->cudnnSetStream(place.handle, static_cast<CuStream>(device.nativeStream())),
        "use the stream");
  if (!status.ok())
    return makeError(status.code(), device.name(), ": ", status.message(), " (", (*dnn)->path,
                     "): its CUDA version must be one the driver supports (",
                     formatCudaVersion(device.card().driverVersion), ")");
  return std::unique_ptr<CudaConvolutionLibrary>(
      std::make_unique<ConvolutionLibrary>(*std::move(dnn), std::move(place), options));
}

StatusOr<std::unique_ptr<CudaConvolutionLibrary>>
CudaConvolutionLibrary::openFor(const CudaCard &card, const CudaLibraryOptions &options) {
  using namespace cuda;
  StatusOr<std::shared_ptr<const Dnn>> dnn = Dnn::load(options.searchPath);
  if (!dnn.ok())
    return dnn.status();
  Place place;
  std::string json = devicePropertiesJson(card);
  place.properties.emplace(**dnn, DnnDescriptorType::DeviceProperties);
  place.properties->setRaw(DnnAttribute::DevicePropertiesJson, DnnValue::Char,
                           int64_t(json.size() + 1), json.c_str());
  SINTER_RETURN_IF_ERROR(place.properties->finish("describe the card (cuDNN 9.8 is needed)"));
  return std::unique_ptr<CudaConvolutionLibrary>(
      std::make_unique<ConvolutionLibrary>(*std::move(dnn), std::move(place), options));
}

} // namespace sinter::rt
