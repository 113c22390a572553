#include "sinter/jit.h"

#include "session/State.h"
#include "tracing/Trace.h"

#include "mlir/IR/Verifier.h"

#include <cstdio>
#include <optional>

namespace sinter::detail {

/// One compilation: what it was made for, and what runs.
struct CompiledTrace {
  std::vector<std::pair<DType, rt::Dims>> types;
  std::vector<int64_t> statics;
  std::vector<Observed> observed; ///< flags of modules and variables
  int64_t structure = 0;
  std::shared_ptr<Runnable> runnable;
  std::shared_ptr<void> tree;

  bool accepts(std::span<const Array> inputs, std::span<const int64_t> values,
               const SessionState &session) const {
    if (inputs.size() != types.size() || structure != session.structure ||
        !std::equal(values.begin(), values.end(), statics.begin(), statics.end()))
      return false;
    for (size_t i = 0; i < types.size(); ++i)
      if (inputs[i].dtype() != types[i].first || inputs[i].dims() != types[i].second)
        return false;
    for (const Observed &seen : observed)
      if (seen.flag->value != seen.value)
        return false;
    return true;
  }
};

namespace {

std::string typeText(const std::pair<DType, rt::Dims> &type) {
  return text(name(type.first), Shape(type.second).str());
}

/// The sizes of the first dimensions if these are all that differs.
std::optional<std::pair<int64_t, int64_t>> batchChange(const CompiledTrace &before,
                                                       const CompiledTrace &now) {
  std::optional<std::pair<int64_t, int64_t>> change;
  if (before.types.size() != now.types.size())
    return change;
  for (size_t i = 0; i < now.types.size(); ++i) {
    if (before.types[i] == now.types[i])
      continue;
    rt::Dims from = before.types[i].second, to = now.types[i].second;
    if (before.types[i].first != now.types[i].first || from.empty() || from.size() != to.size())
      return {};
    std::pair sizes(from[0], to[0]);
    from[0] = to[0];
    if (from != to || (change && *change != sizes))
      return {};
    change = sizes;
  }
  return change;
}

/// What made the trace `before` unfit.
std::string difference(const CompiledTrace &before, const CompiledTrace &now, bool sameFlags) {
  if (auto batch = batchChange(before, now))
    return text("batch ", batch->first, "→", batch->second);
  if (before.types.size() != now.types.size())
    return text("number of arrays ", before.types.size(), "→", now.types.size());
  for (size_t i = 0; i < now.types.size(); ++i)
    if (before.types[i] != now.types[i])
      return text("array ", i + 1, " ", typeText(before.types[i]), "→", typeText(now.types[i]));
  for (size_t i = 0; i < std::min(before.statics.size(), now.statics.size()); ++i)
    if (before.statics[i] != now.statics[i])
      return text("static argument ", i + 1, " ", before.statics[i], "→", now.statics[i]);
  if (before.structure != now.structure)
    return "variables were tied";
  return sameFlags ? "other arguments" : "a module's train(), eval() or freeze() changed";
}

const char *ordinalEnding(int64_t number) {
  if (number / 10 % 10 == 1)
    return "th";
  return number % 10 == 1 ? "st" : number % 10 == 2 ? "nd" : number % 10 == 3 ? "rd" : "th";
}

} // namespace

struct Function::Impl {
  std::shared_ptr<SessionState> session;
  JitOptions options;
  Where at;
  std::vector<CompiledTrace> entries; ///< the one used last comes first
  int64_t calls = 0, compilations = 0;
  int64_t missedCall = 0, staticMisses = 0; ///< consecutive calls that only a static made compile

  CompiledTrace compile(std::span<const Array> inputs, std::span<const int64_t> statics, Body body);
  void report(const CompiledTrace &now);
};

Function::Function(Session &session, JitOptions options, Where at)
    : impl(std::make_unique<Impl>()) {
  if (options.name.empty())
    options.name = options.mode == Mode::Inference ? "inference" : "step";
  impl->session = session.state();
  impl->options = std::move(options);
  impl->at = at;
}

Function::~Function() = default;
Function::Function(Function &&) noexcept = default;
int64_t Function::calls() const { return impl->calls; }
int64_t Function::compilations() const { return impl->compilations; }
const JitOptions &Function::options() const { return impl->options; }

void Function::checkArguments(size_t needed, size_t given) const {
  if (needed != given)
    fail(impl->at, "'", impl->options.name, "' takes ", needed, " Tensors, ", given, " are given");
}

CompiledTrace Function::Impl::compile(std::span<const Array> inputs,
                                      std::span<const int64_t> statics, Body body) {
  CompiledTrace entry;
  entry.statics.assign(statics.begin(), statics.end());
  entry.structure = session->structure;
  Trace trace(session, options.name, {Trace::Kind::Jit, options.mode, options.weights}, at);
  std::vector<Tensor> arguments;
  for (const Array &input : inputs) {
    entry.types.emplace_back(input.dtype(), input.dims());
    auto type = tensorType(session->context, input.dtype(), input.dims());
    mlir::Value value =
        trace.addArgument(type, text("input", arguments.size()), trace.location(at));
    arguments.push_back(trace.tensor(value, at));
  }
  trace.line = at;
  Traced traced = body(arguments);
  std::vector<mlir::Value> results;
  for (const Tensor &result : traced.results) {
    stateOf(result, at); // an Error for one that holds nothing
    results.push_back(trace.value(result.shared(), at));
  }
  trace.finish(results);
  entry.observed = std::move(trace.observed);
  entry.tree = std::move(traced.tree);
  if (failed(mlir::verify(trace.module)))
    throw Error("sinter made a graph of '" + options.name +
                "' that is not valid, which is a "
                "defect of sinter; --sinter-dump-ir=all shows it");
  entry.runnable = session->compile(trace.module, options.name, false);
  return entry;
}

void Function::Impl::report(const CompiledTrace &now) {
  if (entries.empty() || !session->options.verbose)
    return;
  const CompiledTrace &before = entries.front();
  bool sameFlags = true;
  for (const Observed &seen : before.observed)
    sameFlags &= seen.flag->value == seen.value;
  std::fprintf(stderr, "sinter: %s compiled again (%lld%s): %s\n", options.name.c_str(),
               static_cast<long long>(compilations), ordinalEnding(compilations),
               difference(before, now, sameFlags).c_str());
  bool onlyStatic = before.types == now.types && before.statics != now.statics;
  staticMisses = onlyStatic && missedCall == calls - 1 ? staticMisses + 1 : onlyStatic;
  missedCall = calls;
  constexpr int64_t kPatience = 3;
  if (staticMisses == kPatience)
    std::fprintf(stderr,
                 "sinter: warning: %s: %s compiles again in each call, since a static argument "
                 "changes every time (%s); pass it as a Tensor, or make it a Variable and set() "
                 "it before the call\n",
                 placeOf(at).c_str(), options.name.c_str(),
                 difference(before, now, sameFlags).c_str());
}

Function::Outcome Function::call(std::span<const Array> inputs, std::span<const int64_t> statics,
                                 Body body) {
  Impl &self = *impl;
  if (Trace *trace = Trace::current())
    fail(self.at, "the jitted function '", self.options.name, "' is called while '",
         trace->info->name, "' is traced; call the plain function there");
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i])
      fail(self.at, "'", self.options.name, "': argument array ", i + 1, " holds nothing");
  ++self.calls;
  auto accepts = [&](const CompiledTrace &entry) {
    return entry.accepts(inputs, statics, *self.session);
  };
  auto found = std::find_if(self.entries.begin(), self.entries.end(), accepts);
  if (found == self.entries.end()) {
    CompiledTrace entry = self.compile(inputs, statics, body);
    ++self.compilations;
    self.report(entry);
    self.entries.insert(self.entries.begin(), std::move(entry));
  } else if (found != self.entries.begin()) {
    std::rotate(self.entries.begin(), found, found + 1);
  }
  CompiledTrace &entry = self.entries.front();
  return {entry.runnable->run(inputs), entry.tree.get()};
}

} // namespace sinter::detail
