// Modules: named trees of parameters.
//
// A module belongs to a Slot: a session, or a name in a parent module, which knows its children
// and must outlive them (members do). Modules stay where they were made, so they are neither
// copied nor moved; lists of them are ModuleList, ModuleMap or std::optional with emplace. Names
// are PyTorch's: "blocks.0.conv.weight". One thread at a time.
#pragma once

#include "sinter/session.h"
#include "sinter/tensor.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter {

class ModuleBase;

/// Where a module hangs: {session}, {session, "teacher"} or {this, "conv"}.
class Slot {
public:
  Slot(Session &session, std::string name = {}, Where at = Where::current());
  Slot(ModuleBase *parent, std::string name, Where at = Where::current());
  Slot(std::shared_ptr<detail::SessionState> session, std::string name, Where at);

  Slot(const Slot &other);
  ~Slot();

  ModuleBase *parentModule() const { return parent; }
  const std::string &memberName() const { return name; }
  Where where() const { return at; }

private:
  friend class ModuleBase;
  template <class M, class... Args> friend M clone(const M &, Slot, Args &&...);
  std::shared_ptr<detail::SessionState> session;
  ModuleBase *parent = nullptr;
  std::string name;
  Where at;
  std::shared_ptr<const std::map<std::string, Array>> values; ///< initial ones, by name (clone)
};

/// Named storage that outlives a step, updated in place. In a trace its value is the one it had
/// when the step began or was last assigned in it. A Variable is a handle: copies are the same
/// variable; values are assigned by `assign` (in a step, or at once outside one), never by `=`.
class Variable {
public:
  Variable() = default;
  explicit Variable(std::shared_ptr<detail::VariableState> state) : state(std::move(state)) {}
  Variable(const Variable &other);
  ~Variable();
  Variable &operator=(const Variable &) = delete; // v.assign(x) sets the value, tie() shares it
  Variable &operator=(const Operand &) = delete;  // v.assign(x) sets the value

  const std::string &name() const;
  DType dtype() const;
  Shape shape() const;
  bool frozen() const;
  void assign(const Operand &value) const;
  /// Sets the value now; inside a trace, that is an Error. The type must be the variable's.
  void set(const Array &value, Where at = Where::current()) const;
  void set(double value, Where at = Where::current()) const;
  Array value() const; ///< a copy
  template <class T> T item() const { return value().template item<T>(); }
  Tensor tensor(Where at = Where::current()) const; ///< outside a trace: a copy
  operator Tensor() const { return tensor(); }

  const std::shared_ptr<detail::VariableState> &shared() const { return state; }

protected:
  std::shared_ptr<detail::VariableState> state;
};

/// How a parameter gets its first value: numbers of a counter-based generator keyed by the
/// session's seed and the parameter's path.
struct Init {
  enum class Kind { Constant, Uniform, Normal };
  Kind kind = Kind::Constant;
  double a = 0, b = 0;
  static Init constant(double value) { return {Kind::Constant, value, 0}; }
  static Init uniform(double low, double high) { return {Kind::Uniform, low, high}; }
  static Init normal(double mean, double deviation) { return {Kind::Normal, mean, deviation}; }
  /// Uniform in +-1/sqrt(fanIn): PyTorch's kaiming_uniform with a = sqrt(5).
  static Init fanIn(int64_t fanIn);
};

/// A member of a module: trained, saved and loaded. {{this, "weight"}, {out, in}, Init::fanIn(in)}
class Parameter : public Variable {
public:
  Parameter(Slot at, const Shape &shape, Init init, DType dtype = f32);
  ~Parameter();
  Parameter(const Parameter &) = delete;            // it belongs to its module; tie() shares it
  Parameter &operator=(const Parameter &) = delete; // w.assign(x) sets the value, tie() shares it
  Parameter &operator=(const Operand &) = delete;   // w.assign(x) sets the value
  /// Uses the other's storage from now on, under both names.
  void tie(const Parameter &other, Where at = Where::current());

protected:
  Parameter(Slot at, const Shape &shape, Init init, DType dtype, bool trainable);

private:
  ModuleBase *owner;
};

/// A member of a module that is saved but not trained.
class Buffer : public Parameter {
public:
  Buffer(Slot at, const Shape &shape, Init init, DType dtype = f32)
      : Parameter(std::move(at), shape, init, dtype, false) {}
  using Parameter::operator=;
};

using Variables = std::vector<Variable>;

struct LoadOptions {
  std::string only = "*";  ///< names to load, `*` for any text
  bool strict = true;      ///< whatever does not fit is an Error
  bool cast = false;       ///< convert other dtypes
  std::string prefix = {}; ///< of the names in the file
};

/// What a file and a module did not have in common.
struct LoadReport {
  std::string path;
  std::vector<std::string> loaded, missing, unexpected, misshapen, wrongDtype;
  bool ok() const {
    return missing.empty() && unexpected.empty() && misshapen.empty() && wrongDtype.empty();
  }
  std::string str() const;
  void print() const; ///< to stderr
};

class ModuleBase {
public:
  // Modules stay where they were made: keep them in a ModuleList, a ModuleMap or a std::optional
  // (emplace); clone(net, slot) makes another one with the same weights.
  ModuleBase(const ModuleBase &) = delete; // use ModuleList, ModuleMap or clone(net, slot)
  ModuleBase &operator=(const ModuleBase &) = delete; // use ModuleList, ModuleMap or clone
  virtual ~ModuleBase();

  const std::string &path() const;     ///< "blocks.0.conv"; empty for a session's root
  const std::string &fullName() const; ///< with the root's type: "ConvNet.blocks.0.conv"
  const std::shared_ptr<detail::SessionState> &session() const;

  /// Trained parameters, in order of definition, each once; `glob` matches names below here.
  Variables parameters(std::string_view glob = "*") const;
  /// Parameters and buffers.
  Variables variables(std::string_view glob = "*") const;

  void freeze(bool frozen = true); ///< parameters are no longer trained
  void train(bool training = true);
  void eval() { train(false); }
  /// Whether layers here behave as in training: train() was called last, and the trace's mode.
  bool training() const;

  LoadReport load(const std::string &path, LoadOptions options = {}, Where at = Where::current());
  void save(const std::string &path) const;

  struct Impl;
  Impl &internals() const { return *impl; }

protected:
  ModuleBase(Slot at, std::string_view typeName);

private:
  std::unique_ptr<Impl> impl;
};

namespace detail {

/// The innermost module whose operator() runs: the path in locations and errors.
class ModuleScope {
public:
  explicit ModuleScope(const ModuleBase &module);
  ~ModuleScope();
  ModuleScope(const ModuleScope &) = delete;
  ModuleScope &operator=(const ModuleScope &) = delete;
};

template <class T> constexpr std::string_view typeName() {
  std::string_view text = __PRETTY_FUNCTION__;
  size_t from = text.find("T = ") + 4;
  text = text.substr(from, text.find_first_of(";]", from) - from);
  if (size_t arguments = text.find('<'); arguments != text.npos)
    text = text.substr(0, arguments);
  if (size_t scope = text.rfind(':'); scope != text.npos)
    text = text.substr(scope + 1);
  return text;
}

std::shared_ptr<const std::map<std::string, Array>> snapshot(const ModuleBase &module);

} // namespace detail

/// Base of a user's module; `forward` is called through operator(), which names the module in
/// locations: struct Net : sn::Module<Net> { using Module::Module; Tensor forward(Tensor x); };
template <class Self> class Module : public ModuleBase {
public:
  explicit Module(Slot at) : ModuleBase(std::move(at), detail::typeName<Self>()) {}
  explicit Module(Session &session, Where at = Where::current()) : Module(Slot(session, {}, at)) {}

  template <class... Args> decltype(auto) operator()(Args &&...args) {
    detail::ModuleScope scope(*this);
    return static_cast<Self *>(this)->forward(std::forward<Args>(args)...);
  }
};

/// Modules by number, made in place: {{this, "blocks"}, 2, [](Slot at, int64_t i) { … }}.
template <class T> class ModuleList : public ModuleBase {
public:
  explicit ModuleList(Slot at) : ModuleBase(std::move(at), "ModuleList") {}
  template <class Make> ModuleList(Slot at, int64_t count, Make make) : ModuleList(std::move(at)) {
    for (int64_t i = 0; i < count; ++i)
      append([&](Slot slot) { return make(std::move(slot), i); });
  }
  /// make(Slot) returns the new last module.
  template <class Make> T &append(Make make) {
    items.push_back(std::unique_ptr<T>(new T(make(Slot(this, std::to_string(items.size()))))));
    return *items.back();
  }

  int64_t size() const { return int64_t(items.size()); }
  T &operator[](int64_t i) { return *items.at(size_t(i < 0 ? i + size() : i)); }

  class Iterator {
  public:
    explicit Iterator(const std::unique_ptr<T> *at) : at(at) {}
    T &operator*() const { return **at; }
    Iterator &operator++() { return ++at, *this; }
    bool operator==(const Iterator &) const = default;

  private:
    const std::unique_ptr<T> *at;
  };
  Iterator begin() { return Iterator(items.data()); }
  Iterator end() { return Iterator(items.data() + items.size()); }

private:
  std::vector<std::unique_ptr<T>> items;
};

/// Modules by name.
template <class T> class ModuleMap : public ModuleBase {
public:
  explicit ModuleMap(Slot at) : ModuleBase(std::move(at), "ModuleMap") {}
  template <class Make> T &add(const std::string &name, Make make) {
    auto &item = items[name];
    item.reset();
    item.reset(new T(make(Slot(this, name))));
    return *item;
  }
  T &operator[](const std::string &name) { return *items.at(name); }
  auto begin() { return items.begin(); }
  auto end() { return items.end(); }
  int64_t size() const { return int64_t(items.size()); }

private:
  std::map<std::string, std::unique_ptr<T>> items;
};

/// Another module of the same kind with the same weights, made in `at` by M(at, arguments…).
template <class M, class... Args> M clone(const M &module, Slot at, Args &&...args) {
  at.values = detail::snapshot(module);
  return M(std::move(at), std::forward<Args>(args)...);
}

} // namespace sinter
