#include "sinter/module.h"

#include "layers/Initialise.h"
#include "layers/ModuleImpl.h"
#include "session/Weights.h"
#include "tracing/Trace.h"

#include <algorithm>

namespace sinter {
using detail::fail;
using detail::SessionState;
using detail::Trace;
using detail::VariableState;

namespace detail {

static thread_local std::vector<const ModuleBase *> running;

ModuleScope::ModuleScope(const ModuleBase &module) { running.push_back(&module); }
ModuleScope::~ModuleScope() { running.pop_back(); }

const std::string &currentModule() {
  static const std::string none;
  return running.empty() ? none : running.back()->fullName();
}

std::string inModule() {
  const std::string &module = currentModule();
  return module.empty() ? module : " (in " + module + ")";
}

int64_t required(const ModuleBase &layer, const char *option, int64_t value) {
  if (value < 1)
    fail(layer.internals().made, layer.fullName(), ": the option .", option,
         value ? text(" is ", value, "; it must be 1 or more")
               : text(" is not given; add .", option, " = … to the layer's options"));
  return value;
}

} // namespace detail

Slot::Slot(Session &session, std::string name, Where at)
    : session(session.state()), name(std::move(name)), at(at) {}

Slot::Slot(ModuleBase *parent, std::string name, Where at)
    : session(parent->session()), parent(parent), name(std::move(name)), at(at) {}

Slot::Slot(std::shared_ptr<SessionState> session, std::string name, Where at)
    : session(std::move(session)), name(std::move(name)), at(at) {}
Slot::Slot(const Slot &other) = default;
Slot::~Slot() = default;

void ModuleBase::Impl::checkName(const std::string &added, Where at) const {
  if (added.empty())
    fail(at, fullName, ": a member needs a name: {this, \"name\"}");
  auto taken = [&](const auto &entry) { return entry.first == added; };
  auto takenByChild = [&](const ModuleBase *child) { return child->impl->name == added; };
  if (std::any_of(parameters.begin(), parameters.end(), taken) ||
      std::any_of(children.begin(), children.end(), takenByChild))
    fail(at, fullName, ": two members are named '", added, "'");
}

ModuleBase::ModuleBase(Slot at, std::string_view typeName) : impl(std::make_unique<Impl>()) {
  impl->session = at.session;
  impl->parent = at.parent;
  impl->made = at.at;
  impl->values = at.values;
  impl->name = at.name;
  if (at.parent) {
    Impl &parent = *at.parent->impl;
    parent.checkName(at.name, at.at);
    impl->path = parent.pathOf(at.name);
    impl->fullName = parent.fullName + "." + at.name;
    impl->training->value = parent.training->value;
    parent.children.push_back(this);
  } else {
    impl->path = at.name;
    impl->fullName = at.name.empty() ? std::string(typeName) : at.name;
  }
}

ModuleBase::~ModuleBase() {
  if (impl->parent)
    std::erase(impl->parent->impl->children, this);
}

const std::string &ModuleBase::path() const { return impl->path; }
const std::string &ModuleBase::fullName() const { return impl->fullName; }
const std::shared_ptr<SessionState> &ModuleBase::session() const { return impl->session; }

/// Calls visit(name relative to `prefix`'s start, parameter) on all below, own ones first.
template <class Visit>
static void visitParameters(const ModuleBase &module, const std::string &prefix, Visit &&visit) {
  for (const auto &[name, parameter] : module.internals().parameters)
    visit(prefix + name, *parameter);
  for (const ModuleBase *child : module.internals().children)
    visitParameters(*child, prefix + child->internals().name + ".", visit);
}

static Variables collect(const ModuleBase &module, std::string_view glob, bool onlyTrainable) {
  Variables result;
  std::vector<const VariableState *> seen;
  visitParameters(module, {}, [&](const std::string &name, const Parameter &parameter) {
    const VariableState *state = parameter.shared().get();
    if ((onlyTrainable && !state->trainable) || !detail::matches(glob, name) ||
        std::find(seen.begin(), seen.end(), state) != seen.end())
      return;
    seen.push_back(state);
    result.push_back(parameter);
  });
  return result;
}

Variables ModuleBase::parameters(std::string_view glob) const { return collect(*this, glob, true); }
Variables ModuleBase::variables(std::string_view glob) const { return collect(*this, glob, false); }

void ModuleBase::freeze(bool frozen) {
  for (const Variable &parameter : parameters())
    parameter.shared()->frozen->value = frozen;
}

void ModuleBase::train(bool training) {
  impl->training->value = training;
  for (ModuleBase *child : impl->children)
    child->train(training);
}

bool ModuleBase::training() const {
  Trace *trace = Trace::current();
  if (!trace)
    return impl->training->value;
  return trace->options.mode != Mode::Inference && trace->flag(impl->training);
}

LoadReport ModuleBase::load(const std::string &path, LoadOptions options, Where at) {
  std::vector<detail::Target> targets;
  visitParameters(*this, {}, [&](const std::string &name, const Parameter &parameter) {
    targets.push_back({name, parameter.shared()});
  });
  return detail::loadWeights(path, targets, options, at);
}

void ModuleBase::save(const std::string &path) const {
  std::vector<rt::TensorView> views;
  std::vector<const VariableState *> saved; // tied ones under their first name only
  visitParameters(*this, {}, [&](const std::string &name, const Parameter &parameter) {
    const VariableState *state = parameter.shared().get();
    if (std::find(saved.begin(), saved.end(), state) != saved.end())
      return;
    saved.push_back(state);
    views.push_back(detail::viewOf(name, detail::contentsOf(*state)));
  });
  detail::check(rt::writeSafetensors(path, std::move(views)));
}

std::shared_ptr<const std::map<std::string, Array>> detail::snapshot(const ModuleBase &module) {
  auto values = std::make_shared<std::map<std::string, Array>>();
  visitParameters(module, {}, [&](const std::string &name, const Parameter &parameter) {
    values->emplace(name, detail::contentsOf(*parameter.shared()).clone());
  });
  return values;
}

Parameter::Parameter(Slot at, const Shape &shape, Init init, DType dtype)
    : Parameter(std::move(at), shape, init, dtype, true) {}

/// The value a clone's parameter takes over, if it is part of one.
static const Array *inherited(const ModuleBase &owner, std::string name) {
  for (const ModuleBase *module = &owner; module; module = module->internals().parent) {
    if (const auto &values = module->internals().values) {
      auto found = values->find(name);
      return found == values->end() ? nullptr : &found->second;
    }
    name = module->internals().name + "." + name;
  }
  return nullptr;
}

Parameter::Parameter(Slot at, const Shape &shape, Init init, DType dtype, bool trainable)
    : owner(at.parentModule()) {
  if (!owner)
    fail(at.where(), "a Parameter is a member of a module: {{this, \"weight\"}, …}");
  ModuleBase::Impl &module = owner->internals();
  module.checkName(at.memberName(), at.where());
  std::string path = module.pathOf(at.memberName());
  SessionState &session = *module.session;
  state = session.addVariable(path, dtype, shape.sizes(), trainable, at.where());
  Array value = detail::contentsToWrite(*state);
  if (const Array *initial = inherited(*owner, at.memberName())) {
    if (initial->type() != value.type())
      fail(at.where(), path, ": clone needs the same shape: ", initial->type(), " there, ",
           value.type(), " here");
    value.copyFrom(initial->data(), size_t(initial->bytes()));
  } else {
    session.seeded |= init.kind != Init::Kind::Constant;
    detail::initialise(value, init, session.options.seed, path);
  }
  module.parameters.emplace_back(at.memberName(), this);
}

Parameter::~Parameter() {
  std::erase_if(owner->internals().parameters,
                [&](const auto &entry) { return entry.second == this; });
}

void Parameter::tie(const Parameter &other, Where at) {
  if (Trace::current())
    fail(at, "tie: ", name(), " is tied while a function is traced; tie before the first call");
  if (other.state->session != state->session)
    fail(at, "tie: ", name(), " and ", other.name(), " belong to different Sessions");
  if (other.state->type() != state->type())
    fail(at, "tie: the types differ: ", name(), " is ", state->type(), ", ", other.name(), " is ",
         other.state->type());
  state = other.state;
  ++state->session->structure;
}

} // namespace sinter
