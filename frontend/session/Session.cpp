#include "sinter/session.h"

#include "session/State.h"
#include "session/Weights.h"
#include "sinter/base/error.h"
#include "sinter/ir/Dialect.h"
#include "tracing/Trace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace sinter {

namespace detail {

/// Sessions of this thread, the newest last; those that were left or are gone drop out in
/// current().
static thread_local std::vector<std::weak_ptr<SessionState>> entered;

SessionState::SessionState(Options chosen)
    : options(std::move(chosen)), context(mlir::MLIRContext::Threading::DISABLED) {
  context.loadDialect<ir::SinterDialect, mlir::func::FuncDialect>();
}

SessionState::~SessionState() = default;

Array contentsOf(rt::StoredVariable &variable) {
  StatusOr<Array> contents = variable.read();
  check(contents.status());
  return *std::move(contents);
}

Array contentsToWrite(const VariableState &variable) {
  StatusOr<Array> contents = variable.stored->write();
  check(contents.status());
  return *std::move(contents);
}

void SessionState::enter() { entered.push_back(weak_from_this()); }

void SessionState::leave() { left = true; }

std::shared_ptr<SessionState> SessionState::current() {
  while (!entered.empty()) {
    std::shared_ptr<SessionState> newest = entered.back().lock();
    if (newest && !newest->left)
      return newest;
    entered.pop_back();
  }
  return nullptr;
}

std::shared_ptr<VariableState> SessionState::addVariable(const std::string &name, DType dtype,
                                                         rt::Dims dims, bool trainable, Where at) {
  std::weak_ptr<VariableState> &known = variables[name];
  if (!known.expired())
    fail(at, "a variable named '", name,
         "' exists already in this session; give the module a "
         "name of its own: Net net{{session, \"name\"}}");
  StatusOr<rt::StoredVariable *> stored = store.add(name, dtype, std::move(dims), trainable);
  if (!stored.ok())
    fail(at, stored.status().message());
  auto state = std::make_shared<VariableState>();
  state->session = shared_from_this();
  state->stored = *stored;
  state->trainable = trainable;
  known = state;
  return state;
}

const std::shared_ptr<VariableState> &SessionState::randomState() {
  if (!random) {
    random = addVariable("rng.state", DType::I64, {2}, false, Where::current());
    contentsToWrite(*random).data<int64_t>()[0] = int64_t(options.seed);
    random->session.reset(); // it is this session that owns it
    seeded = true;
  }
  return random;
}

std::map<std::string, std::shared_ptr<VariableState>> SessionState::livingVariables() const {
  std::map<std::string, std::shared_ptr<VariableState>> result;
  for (const auto &[name, weak] : variables)
    if (auto state = weak.lock())
      result.emplace(name, state);
  return result;
}

Backend &SessionState::device() {
  if (!backend)
    backend = makeBackend(*this);
  return *backend;
}

std::shared_ptr<Runnable> SessionState::compile(mlir::ModuleOp module, const std::string &entry,
                                                bool quiet) {
  auto start = std::chrono::steady_clock::now();
  std::shared_ptr<Runnable> runnable = device().compile(module, entry);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!quiet && options.verbose)
    std::fprintf(stderr, "sinter: compiled %s in %.2f s (%lld ops, %lld groups)\n", entry.c_str(),
                 seconds.count(), static_cast<long long>(runnable->ops),
                 static_cast<long long>(runnable->groups));
  return runnable;
}

} // namespace detail

Session::Session(Options options)
    : shared(std::make_shared<detail::SessionState>(std::move(options))) {
  shared->enter();
}

Session::~Session() {
  shared->leave();
  const Options &options = shared->options;
  if (!shared->backend || (options.profile.empty() && options.emu != "count"))
    return;
  std::fputs(shared->backend->profile().c_str(), stderr);
  try {
    if (!options.profile.empty() && options.profile != "-")
      shared->backend->writeTrace(shared->options.profile);
  } catch (const Error &error) { // a destructor may not throw, and the run itself went well
    std::fprintf(stderr, "sinter: %s\n", error.what());
  }
}

const Options &Session::options() const { return shared->options; }

void Session::setOption(std::string_view flag, Where at) {
  Options changed = shared->options;
  changed.set(flag);
  auto tooLate = [&](const char *name, const char *what) {
    detail::fail(at, "--sinter-", name, " was set too late: ", what,
                 "; give it to the Session's constructor (Options), or set it right after that");
  };
  const Options &now = shared->options;
  if (shared->seeded && changed.seed != now.seed)
    tooLate("seed", "variables have their values from it");
  if (shared->backend) {
    const char *compiled = "something was compiled already";
    if (changed.device != now.device)
      tooLate("device", compiled);
    if (changed.emu != now.emu)
      tooLate("emu", compiled);
    if (changed.threads != now.threads)
      tooLate("threads", compiled);
    if (changed.cuda != now.cuda)
      tooLate(changed.cuda.back().substr(0, changed.cuda.back().find('=')).c_str(), compiled);
    if (changed.card != now.card)
      tooLate("card", compiled);
    if (changed.deterministic != now.deterministic)
      tooLate("deterministic", compiled);
    if (changed.vendor != now.vendor)
      tooLate("vendor", compiled);
    if (changed.profile != now.profile)
      tooLate("profile", compiled);
    if (changed.checkNumerics != now.checkNumerics)
      tooLate("check-numerics", compiled);
  }
  shared->options = std::move(changed);
}

void Session::save(const std::string &path) const {
  detail::check(rt::writeSafetensors(path, detail::viewsOf(*shared)));
}

void Session::load(const std::string &path, Where at) {
  detail::loadWeights(path, detail::targetsOf(*shared), {}, at);
}

void Session::onProbe(std::function<void(std::string_view, const Array &)> callback) {
  shared->probe = std::move(callback);
}

std::string Session::profile() const {
  return shared->backend ? shared->backend->profile() : std::string();
}

} // namespace sinter
