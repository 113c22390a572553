// Compiled code as a backend: the whole pipeline, loaded into this process.
#include "Backend.h"

#include "sinter/base/float16.h"
#include "sinter/codegen/Compile.h"
#include "sinter/core/executable.h"
#include "sinter/core/library.h"
#include "sinter/emu/device.h"
#include "sinter/ir/DType.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using sinter::ir::ReferenceTensor;

namespace sinter::conformance {

template <class T> static void copyAs(const ReferenceTensor &from, const rt::Array &to) {
  T *data = static_cast<T *>(to.data());
  for (int64_t i = 0; i < from.size(); ++i)
    data[i] = from.isFloat() ? T(from.at(i).real) : T(from.at(i).integer);
}

rt::Array toArray(const ReferenceTensor &tensor) {
  DType dtype = ir::dtypeOf(tensor.element());
  rt::Array array = rt::Array::empty(dtype, rt::Dims(tensor.dims()));
  auto *bits = static_cast<uint16_t *>(array.data());
  switch (dtype) {
  case DType::F64:
    copyAs<double>(tensor, array);
    break;
  case DType::F32:
    copyAs<float>(tensor, array);
    break;
  case DType::F16:
    for (int64_t i = 0; i < tensor.size(); ++i)
      bits[i] = floatToHalf(float(tensor.real(i)));
    break;
  case DType::BF16:
    for (int64_t i = 0; i < tensor.size(); ++i)
      bits[i] = floatToBFloat16(float(tensor.real(i)));
    break;
  case DType::I64:
    copyAs<int64_t>(tensor, array);
    break;
  case DType::I32:
    copyAs<int32_t>(tensor, array);
    break;
  case DType::I16:
    copyAs<int16_t>(tensor, array);
    break;
  case DType::I8:
    copyAs<int8_t>(tensor, array);
    break;
  case DType::U8:
  case DType::Bool:
    copyAs<uint8_t>(tensor, array);
    break;
  }
  return array;
}

static ReferenceTensor toTensor(const rt::Array &array, Type element) {
  ReferenceTensor tensor(array.dims(), element);
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (tensor.isFloat())
      tensor.set(i, array.floatAt(i));
    else
      tensor.setInt(i, array.integerAt(i));
  return tensor;
}

namespace {
class CompiledBackend : public Backend {
public:
  CompiledBackend(std::string label, std::string vendor,
                  std::shared_ptr<rt::Device> device = nullptr)
      : label(std::move(label)), device(std::move(device)) {
    options.vendor = std::move(vendor);
    if (this->device)
      options.device = "emu";
  }

  std::string name() const override { return label; }

  LogicalResult compile(ModuleOp module) override {
    auto compiled = codegen::compile(module, options);
    if (failed(compiled))
      return failure();
    image = std::move(*compiled);
    return success();
  }

  FailureOr<std::vector<ReferenceTensor>> run(Run &run, std::string &error) override {
    rt::VariableStore store;
    if (Status added = store.addAll(*image.program); !added.ok())
      return error = added.message(), failure();
    for (auto &[name, value] : run.variables)
      store.find(name)->storage().copyFrom(toArray(value).data(), store.find(name)->bytes());
    std::vector<rt::Array> inputs;
    for (const ReferenceTensor &argument : run.arguments)
      inputs.push_back(toArray(argument));
    auto outputs = call(run.function, inputs, store);
    if (!outputs.ok())
      return error = outputs.status().message(), failure();
    for (auto &[name, value] : run.variables) {
      auto stored = store.find(name)->read();
      if (!stored.ok())
        return error = stored.status().message(), failure();
      value = toTensor(*stored, value.element());
    }
    std::vector<ReferenceTensor> tensors;
    for (auto [output, type] : llvm::zip_equal(*outputs, run.results))
      tensors.push_back(toTensor(output, cast<RankedTensorType>(type).getElementType()));
    return tensors;
  }

private:
  StatusOr<std::vector<rt::Array>> call(StringRef function, std::span<const rt::Array> inputs,
                                        rt::VariableStore &store) {
    const auto &entries = image.program->entries;
    auto entry = llvm::find_if(
        entries, [&](const rt::Entry &entry) { return StringRef(entry.name) == function; });
    if (entry == entries.end())
      return Status(Code::NotFound, "the compiled program has no entry of this name");
    const rt::LibraryProvider *library = options.vendor == "none" ? nullptr : rt::vendorLibrary();
    rt::Executable::Options execution;
    if (device)
      execution.device = rt::DeviceVariables::create(device);
    execution.deviceKernels = image.deviceKernels;
    auto executable = rt::Executable::create(image.program, rt::Index(entry - entries.begin()),
                                             image.kernels, store, pool, library, execution);
    if (!executable.ok())
      return executable.status();
    return (*executable)->call(inputs);
  }

  std::string label;
  codegen::CompileOptions options;
  codegen::JitImage image;
  rt::ThreadPool pool{2};
  std::shared_ptr<rt::Device> device; ///< null: the CPU
};
} // namespace

std::vector<std::unique_ptr<Backend>> makeBackends(StringRef device) {
  std::vector<std::unique_ptr<Backend>> backends;
  if (device == "emu") {
    auto emulated = rt::EmuDevice::create({.threads = 1});
    if (!emulated.ok())
      llvm::report_fatal_error(llvm::StringRef(emulated.status().message()));
    backends.push_back(std::make_unique<CompiledBackend>("emu", "none", *std::move(emulated)));
    return backends;
  }
  backends.push_back(std::make_unique<CompiledBackend>("cpu", "none"));
  backends.push_back(std::make_unique<CompiledBackend>("cpu with oneDNN", "onednn"));
  return backends;
}

} // namespace sinter::conformance
