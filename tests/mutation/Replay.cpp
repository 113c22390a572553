#include "Replay.h"

#include "emulator/Emulate.h"
#include "sinter/base/error.h"
#include "sinter/base/text.h"
#include "sinter/data.h"
#include "sinter/emu/device.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace llvm;

namespace sinter::mutation {

ModulePtr Subject::module(LLVMContext &context) const {
  return cantFail(parseBitcodeFile(MemoryBufferRef(bitcode, launch.kernel), context));
}

/// The module of one kernel.
static std::string isolated(const Module &whole, StringRef kernel) {
  ValueToValueMapTy map;
  auto module = CloneModule(whole, map, [&](const GlobalValue *value) {
    return !isa<Function>(value) || value->getName() == kernel;
  });
  for (Function &function : make_early_inc_range(*module))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  std::string bytes;
  raw_string_ostream stream(bytes);
  WriteBitcodeToFile(*module, stream);
  return bytes;
}

/// Zeros, or ones, hide what reads the wrong one of them: parameters' state before the first step.
static void fillUniform(RecordedLaunch &launch) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> values(0.5f, 1.5f);
  for (RecordedBuffer &buffer : launch.buffers) {
    size_t count = buffer.bytes.size() / sizeof(float);
    auto *data = reinterpret_cast<float *>(buffer.bytes.data());
    if (buffer.dtype != DType::F32 || count < 2 || !std::isfinite(data[0]) ||
        std::any_of(data, data + count, [&](float value) { return value != data[0]; }))
      continue;
    for (size_t i = 0; i < count; ++i)
      data[i] = values(random);
  }
}

std::vector<Subject> subjectsOf(const RecordedStep &step) {
  LLVMContext context;
  SMDiagnostic diagnostic;
  auto whole = parseAssemblyString(step.ir, diagnostic, context);
  std::vector<Subject> subjects;
  for (const RecordedLaunch &launch : step.launches) {
    Subject &subject = subjects.emplace_back();
    subject.program = step.name;
    subject.launch = launch;
    fillUniform(subject.launch);
    subject.bitcode = isolated(*whole, launch.kernel);
    LLVMContext own;
    ModulePtr module = subject.module(own);
    subject.mutants = enumerate(kernelOf(*module));
  }
  return subjects;
}

std::string fingerprint(const Subject &subject) {
  std::string text;
  for (uint32_t extent : {subject.launch.shape.grid[0], subject.launch.shape.block[0]})
    text += std::to_string(extent) + " ";
  LLVMContext context;
  ModulePtr module = subject.module(context);
  StripDebugInfo(*module);
  Function &kernel = kernelOf(*module);
  kernel.setName("kernel");
  for (GlobalVariable &variable : module->globals())
    variable.setName("variable");
  raw_string_ostream(text) << *module;
  return text;
}

namespace {

struct Compiled {
  std::unique_ptr<orc::LLJIT> jit;
  void *kernel = nullptr;
};

/// Quick to compile: a mutant runs once.
Expected<Compiled> compile(ModulePtr module) {
  static const bool initialised = !InitializeNativeTarget() && !InitializeNativeTargetAsmPrinter();
  if (!initialised)
    return createStringError("LLVM has no code generator for this machine");
  auto emulated = codegen::emulate(*module, {.instrument = true});
  if (!emulated)
    return emulated.takeError();
  auto machine = orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine.takeError();
  machine->setCodeGenOptLevel(CodeGenOptLevel::None);
  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(*machine).create();
  if (!jit)
    return jit.takeError();
  // The context is the caller's; the module is compiled before it goes.
  orc::IRCompileLayer::IRCompiler &compiler = (*jit)->getIRCompileLayer().getCompiler();
  auto object = compiler(*module);
  if (!object)
    return object.takeError();
  if (llvm::Error error = (*jit)->addObjectFile(std::move(*object)))
    return error;
  auto address = (*jit)->lookup(emulated->front());
  if (!address)
    return address.takeError();
  return Compiled{std::move(*jit), address->toPtr<void *>()};
}

/// The recorded buffers on another device: what overlaps there overlaps here.
class Buffers {
public:
  Buffers(rt::Device &device, const RecordedLaunch &launch) : device(device) {
    std::vector<const RecordedBuffer *> order;
    for (const RecordedBuffer &buffer : launch.buffers)
      order.push_back(&buffer);
    llvm::stable_sort(order, [](auto *a, auto *b) { return a->address < b->address; });
    for (const RecordedBuffer *buffer : order)
      place(*buffer);
    for (Region &region : regions) {
      auto memory = device.allocate(std::max<size_t>(region.bytes.size(), 1), {"region", ""});
      data::check(memory.status());
      region.there = *memory;
      data::check(device.copyToDevice(region.there, region.bytes.data(), region.bytes.size(),
                                      {"region", ""}));
    }
  }

  void *find(const RecordedBuffer &buffer) const {
    for (const Region &region : regions)
      if (buffer.address - region.address <= region.bytes.size())
        if (buffer.address + buffer.bytes.size() <= region.address + region.bytes.size())
          return static_cast<char *>(region.there) + (buffer.address - region.address);
    return nullptr;
  }

private:
  struct Region {
    uint64_t address;
    std::vector<std::byte> bytes;
    void *there = nullptr;
  };
  void place(const RecordedBuffer &buffer) {
    if (regions.empty() || buffer.address >= regions.back().address + regions.back().bytes.size())
      regions.push_back({buffer.address, {}});
    Region &region = regions.back();
    size_t offset = buffer.address - region.address;
    region.bytes.resize(std::max(region.bytes.size(), offset + buffer.bytes.size()));
    std::copy(buffer.bytes.begin(), buffer.bytes.end(), region.bytes.begin() + offset);
  }

  rt::Device &device;
  std::vector<Region> regions;
};

} // namespace

static Status launchOn(rt::Device &device, const Subject &subject, void *kernel, Written &written) {
  const RecordedLaunch &launch = subject.launch;
  Buffers buffers(device, launch);
  std::vector<void *> pointers;
  std::vector<rt::DeviceBuffer> described;
  for (const RecordedBuffer &buffer : launch.buffers) {
    pointers.push_back(buffers.find(buffer));
    described.push_back({pointers.back(), buffer.bytes.size(), buffer.name, buffer.written});
  }
  std::vector<void *> params;
  for (void *&pointer : pointers)
    params.push_back(&pointer);
  for (const std::vector<std::byte> &scalar : launch.scalars)
    params.push_back(const_cast<std::byte *>(scalar.data()));
  rt::WorkOrigin origin{launch.kernel, subject.program};
  device.describeBuffers(described);
  SINTER_RETURN_IF_ERROR(
      device.launch({kernel, launch.kernel}, launch.shape, params.data(), origin));
  SINTER_RETURN_IF_ERROR(device.synchronize());
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    if (!launch.buffers[i].written)
      continue;
    std::vector<std::byte> &bytes = written.emplace_back(launch.buffers[i].bytes.size());
    SINTER_RETURN_IF_ERROR(device.copyToHost(bytes.data(), pointers[i], bytes.size(), origin));
  }
  return device.synchronize();
}

Outcome launch(const Subject &subject, ModulePtr module) {
  Outcome outcome;
  auto compiled = compile(std::move(module));
  if (!compiled)
    throw Error("not compiled: " + toString(compiled.takeError()));
  auto device = rt::EmuDevice::create({.memory = int64_t(1) << 30, .threads = 1, .check = true});
  data::check(device.status());
  outcome.finding = launchOn(**device, subject, compiled->kernel, outcome.written).message();
  outcome.traps = outcome.finding.find("\n  trap at") != std::string::npos;
  return outcome;
}

/// How far the numbers may be apart: not at all, or by a small part of the largest.
static std::string differenceOf(const RecordedBuffer &buffer,
                                const std::vector<std::byte> &expected,
                                const std::vector<std::byte> &actual) {
  if (expected == actual)
    return "";
  if (buffer.dtype != DType::F32)
    return concat("other bits in '", buffer.name, "'");
  size_t count = expected.size() / sizeof(float);
  auto *a = reinterpret_cast<const float *>(expected.data());
  auto *b = reinterpret_cast<const float *>(actual.data());
  float largest = 0;
  for (size_t i = 0; i < count; ++i)
    if (std::isfinite(a[i]))
      largest = std::max(largest, std::fabs(a[i]));
  for (size_t i = 0; i < count; ++i) {
    bool same =
        std::memcmp(&a[i], &b[i], sizeof(float)) == 0 || std::fabs(a[i] - b[i]) <= 1e-5f * largest;
    if (!same)
      return concat(b[i], " for ", a[i], " at ", i, " of '", buffer.name, "'");
  }
  return "";
}

std::string difference(const Subject &subject, const Written &written) {
  size_t index = 0;
  for (const RecordedBuffer &buffer : subject.launch.buffers) {
    if (!buffer.written)
      continue;
    std::string text = differenceOf(buffer, subject.expected[index], written[index]);
    if (!text.empty())
      return text;
    ++index;
  }
  return "";
}

} // namespace sinter::mutation
