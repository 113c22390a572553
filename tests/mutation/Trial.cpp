#include "Trial.h"

#include "sinter/base/error.h"
#include "sinter/data.h"
#include "sinter/emu/device.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"

#include <chrono>
#include <cstring>

namespace sinter::mutation {

std::string encode(const Verdict &verdict) {
  return std::string(1, char('0' + int(verdict.fate))) + verdict.text;
}

Verdict decode(const std::string &text) {
  if (text.empty())
    throw Error("a mutant's process ended without an answer");
  return {Fate(text[0] - '0'), text.substr(1)};
}

std::string runUnmutated(Subject &subject) {
  auto begin = std::chrono::steady_clock::now();
  llvm::LLVMContext context;
  Outcome outcome = launch(subject, subject.module(context));
  subject.expected = std::move(outcome.written);
  subject.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome.finding;
}

/// "race at file:3: …", the first of the findings.
static std::string firstFinding(const std::string &message) {
  size_t begin = message.find("\n  ");
  if (begin == message.npos)
    return message;
  begin += 3;
  return message.substr(begin, message.find('\n', begin) - begin);
}

Verdict tryMutant(const Subject &subject, const Mutant &mutant) {
  llvm::LLVMContext context;
  ModulePtr module = subject.module(context);
  apply(kernelOf(*module), mutant);
  if (llvm::verifyModule(*module, &llvm::errs()))
    throw Error("the mutant is invalid IR");
  Outcome outcome = launch(subject, std::move(module));
  if (!outcome.finding.empty())
    return {Fate::Check, firstFinding(outcome.finding)};
  std::string differs = difference(subject, outcome.written);
  if (!differs.empty())
    return {Fate::Result, differs};
  Laboratory laboratory{[&] { return subject.module(context); },
                        [&](ModulePtr probe) { return launch(subject, std::move(probe)).traps; }};
  std::string why = whyEquivalent(mutant, laboratory);
  if (!why.empty())
    return {Fate::Equivalent, why};
  return {Fate::Survived, ""};
}

static std::unique_ptr<rt::EmuDevice> deferredDevice() {
  auto device = rt::EmuDevice::create({.threads = 1, .deferred = true});
  data::check(device.status());
  return *std::move(device);
}

std::vector<Command> commandsOf(const RecordedStep &step) {
  auto device = deferredDevice();
  SkippingDevice watched(*device, -1);
  data::check(step.run(watched).status());
  std::vector<Command> commands;
  for (const SkippingDevice::Work &work : watched.met)
    commands.push_back(
        {work.isWait ? Kind::Wait : Kind::Copy, int64_t(commands.size()), work.what});
  return commands;
}

static bool sameBits(const rt::Array &a, const rt::Array &b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), size_t(a.bytes())) == 0;
}

Verdict tryWithout(const RecordedStep &step, int64_t number) {
  auto device = deferredDevice();
  auto expected = step.run(*device);
  data::check(expected.status());
  auto fresh = deferredDevice();
  SkippingDevice skipping(*fresh, number);
  auto results = step.run(skipping);
  if (!results.ok())
    return {Fate::Check, results.status().message()};
  for (size_t i = 0; i < results->outputs.size(); ++i)
    if (!sameBits(results->outputs[i], expected->outputs[i]))
      return {Fate::Result, "other bits in output " + std::to_string(i)};
  for (const auto &[name, value] : results->variables)
    if (!sameBits(value, expected->variables.at(name)))
      return {Fate::Result, "other bits in '" + name + "'"};
  return {Fate::Survived, ""};
}

} // namespace sinter::mutation
