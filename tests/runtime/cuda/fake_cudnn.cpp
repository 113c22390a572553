// A fake cuDNN: keeps what descriptors are told, proposes three engines, and notes what is
// executed. Engine 0 is nondeterministic, engine 1 rounds its inputs, engine 2 has no notes and 2
// KiB of workspace (the others 1 KiB). One thread.
#include "cudnn_types.h"
#include "fake_cuda.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace sinter::rt::cuda {

struct DnnHandleObject {
  CuStream stream = nullptr;
};

} // namespace sinter::rt::cuda

using namespace sinter::rt::cuda;

namespace {

struct Value {
  DnnValue type{};
  std::vector<std::byte> bytes;
};
struct Object {
  DnnDescriptorType type{};
  std::map<DnnAttribute, Value> values;
  bool final = false;
  int engine = -1;
};

std::string executed, lastError;
int64_t objects = 0;
size_t version = 91900;

size_t sizeOf(DnnValue type) {
  switch (type) {
  case DnnValue::Int64:
  case DnnValue::Handle:
  case DnnValue::Pointer:
  case DnnValue::Descriptor:
    return 8;
  case DnnValue::Boolean:
  case DnnValue::Char:
    return 1;
  default:
    return 4;
  }
}

Object &object(DnnDescriptor descriptor) { return *static_cast<Object *>(descriptor); }

template <class T> std::vector<T> all(const Object &from, DnnAttribute attribute) {
  auto found = from.values.find(attribute);
  if (found == from.values.end())
    return {};
  std::vector<T> result(found->second.bytes.size() / sizeof(T));
  std::memcpy(result.data(), found->second.bytes.data(), result.size() * sizeof(T));
  return result;
}

DnnStatus refuse(std::string why) {
  lastError = std::move(why);
  return DnnStatus::BadParam;
}

} // namespace

#define FAKE FAKE_CUDA_EXPORT

/// What was executed since the last call, a line each: engine, stream, ids=pointers, workspace.
FAKE const char *fakeDnnExecuted() {
  static std::string text;
  text.swap(executed);
  executed.clear();
  return text.c_str();
}
FAKE int64_t fakeDnnObjects() { return objects; }
FAKE void fakeDnnVersion(size_t number) { version = number; }

FAKE size_t cudnnGetVersion() { return version; }
FAKE const char *cudnnGetErrorString(DnnStatus status) {
  return status == DnnStatus::BadParam ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_?";
}
FAKE void cudnnGetLastErrorString(char *text, size_t bytes) {
  std::strncpy(text, lastError.c_str(), bytes - 1);
}
FAKE DnnStatus cudnnCreate(DnnHandle *handle) {
  *handle = new DnnHandleObject;
  objects += 1;
  return DnnStatus::Success;
}
FAKE DnnStatus cudnnDestroy(DnnHandle handle) {
  objects -= 1;
  delete handle;
  return DnnStatus::Success;
}
FAKE DnnStatus cudnnSetStream(DnnHandle handle, CuStream stream) {
  handle->stream = stream;
  return DnnStatus::Success;
}

FAKE DnnStatus cudnnBackendCreateDescriptor(DnnDescriptorType type, DnnDescriptor *descriptor) {
  *descriptor = new Object{type, {}, false, -1};
  objects += 1;
  return DnnStatus::Success;
}
FAKE DnnStatus cudnnBackendDestroyDescriptor(DnnDescriptor descriptor) {
  objects -= 1;
  delete static_cast<Object *>(descriptor);
  return DnnStatus::Success;
}
FAKE DnnStatus cudnnBackendFinalize(DnnDescriptor descriptor) {
  Object &it = object(descriptor);
  if (it.type == DnnDescriptorType::OperationGraph &&
      !it.values.contains(DnnAttribute::GraphHandle))
    return refuse("a graph without a handle");
  if (it.type == DnnDescriptorType::ExecutionPlan && !it.values.contains(DnnAttribute::PlanHandle))
    return refuse("a plan without a handle");
  if (it.type == DnnDescriptorType::ExecutionPlan)
    it.engine = object(all<DnnDescriptor>(it, DnnAttribute::PlanConfig).at(0)).engine;
  it.final = true;
  return DnnStatus::Success;
}
FAKE DnnStatus cudnnBackendSetAttribute(DnnDescriptor descriptor, DnnAttribute attribute,
                                        DnnValue type, int64_t count, const void *values) {
  Object &it = object(descriptor);
  if (it.final)
    return refuse("changed after it was finalized");
  if (type == DnnValue::Descriptor)
    for (int64_t i = 0; i < count; ++i)
      if (!object(static_cast<const DnnDescriptor *>(values)[i]).final)
        return refuse("uses a descriptor that is not finalized");
  const auto *first = static_cast<const std::byte *>(values);
  it.values[attribute] = {type, {first, first + size_t(count) * sizeOf(type)}};
  return DnnStatus::Success;
}
FAKE DnnStatus cudnnBackendGetAttribute(DnnDescriptor descriptor, DnnAttribute attribute, DnnValue,
                                        int64_t asked, int64_t *count, void *values) {
  Object &it = object(descriptor);
  switch (attribute) {
  case DnnAttribute::HeuristicResults:
    *count = 3;
    for (int i = 0; i < std::min<int64_t>(asked, 3); ++i) {
      Object &config = object(static_cast<DnnDescriptor *>(values)[i]);
      config.engine = i;
      config.final = true;
    }
    return DnnStatus::Success;
  case DnnAttribute::ConfigEngine:
    object(*static_cast<DnnDescriptor *>(values)).engine = it.engine;
    return DnnStatus::Success;
  case DnnAttribute::EngineNumericalNotes:
    *count = it.engine == 2 ? 0 : 1;
    if (*count)
      *static_cast<DnnNote *>(values) =
          it.engine == 0 ? DnnNote::Nondeterministic : DnnNote::DownConvertInputs;
    return DnnStatus::Success;
  case DnnAttribute::PlanWorkspaceBytes:
    *static_cast<int64_t *>(values) = it.engine == 2 ? 2048 : 1024;
    return DnnStatus::Success;
  default:
    return refuse("asked for what the fake does not know");
  }
}
FAKE DnnStatus cudnnBackendExecute(DnnHandle handle, DnnDescriptor plan, DnnDescriptor pack) {
  if (!object(plan).final || !object(pack).final)
    return refuse("executed before it was finalized");
  auto text = [](const void *pointer) {
    return std::to_string(reinterpret_cast<uintptr_t>(pointer));
  };
  executed += "engine " + std::to_string(object(plan).engine) + " stream " + text(handle->stream);
  auto ids = all<int64_t>(object(pack), DnnAttribute::PackIds);
  auto pointers = all<void *>(object(pack), DnnAttribute::PackPointers);
  for (size_t i = 0; i < ids.size(); ++i)
    executed += " " + std::to_string(ids[i]) + "=" + text(pointers.at(i));
  executed += " workspace " + text(all<void *>(object(pack), DnnAttribute::PackWorkspace).at(0));
  return DnnStatus::Success;
}
