// jit: compiles a function of Tensors the first time it sees arguments of certain types, and runs
// it on Arrays.
//
//   auto step = sn::jit(session, [&](Digits<Tensor> b) { … });   step(Digits<Array>{…})
//
// Tensors and Arrays are data; bools, integers, enums and floats are static: each new value
// compiles again (a number that changes is a Variable). What the function does in C++ happens
// while it is traced, once a compilation. Results are Arrays of their own. The session, and what
// the function captures by reference, must outlive the object. One thread at a time.
#pragma once

#include "sinter/base/function_ref.h"
#include "sinter/reflect.h"
#include "sinter/session.h"

#include <functional>
#include <span>

namespace sinter {

class Ema;

struct JitOptions {
  Mode mode = Mode::Training;
  const Ema *weights = nullptr; ///< read these averages instead of the parameters
  std::string name = {};        ///< in messages and profiles; "" : "step" or "inference"
};

namespace detail {

/// The part of a compiled function that does not depend on its types.
class Function {
public:
  /// Results of a trace, and the tree of Arrays they will fill.
  struct Traced {
    std::vector<Tensor> results;
    std::shared_ptr<void> tree;
  };
  using Body = FunctionRef<Traced(std::span<const Tensor> arguments)>;
  struct Outcome {
    std::vector<Array> results;
    const void *tree;
  };

  Function(Session &session, JitOptions options, Where at);
  ~Function();
  Function(Function &&) noexcept;

  /// Runs, compiling first if these types and statics are new. `statics` also holds the sizes of
  /// vectors, so that it tells all that the arrays do not.
  Outcome call(std::span<const Array> inputs, std::span<const int64_t> statics, Body body);
  int64_t calls() const;
  int64_t compilations() const;
  const JitOptions &options() const;
  /// An Error unless a function that takes `needed` Tensors was given as many.
  void checkArguments(size_t needed, size_t given) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace detail

template <class Signature> class Compiled;

template <class R, class... Args> class Compiled<R(Args...)> {
public:
  using Result = std::conditional_t<std::is_void_v<R>, void, detail::WithArrays<R>>;

  Compiled(Session &session, std::function<R(Args...)> function, JitOptions options, Where at)
      : core(session, std::move(options), at), function(std::move(function)) {}

  Result operator()(const detail::WithArrays<Args> &...args) {
    std::vector<Array> inputs;
    std::vector<int64_t> statics;
    (collect(args, inputs, statics), ...);
    auto body = [&](std::span<const Tensor> tensors) { return trace(tensors, args...); };
    detail::Function::Outcome outcome = core.call(inputs, statics, body);
    if constexpr (!std::is_void_v<R>) {
      size_t next = 0;
      Result result = *static_cast<const Result *>(outcome.tree);
      detail::walk(result, [&]<class T>(T &node) {
        if constexpr (std::is_same_v<T, Array>)
          node = std::move(outcome.results[next++]);
      });
      return result;
    }
  }

  int64_t calls() const { return core.calls(); }
  int64_t compilations() const { return core.compilations(); }
  const JitOptions &options() const { return core.options(); }

  /// Calls the function on Tensors of the current trace, as many as its arguments have.
  detail::Function::Traced trace(std::span<const Tensor> tensors) const {
    return trace(tensors, detail::WithArrays<Args>()...);
  }

private:
  template <class T>
  static void collect(const T &tree, std::vector<Array> &inputs, std::vector<int64_t> &statics) {
    detail::walk(tree, [&]<class N>(const N &node) {
      if constexpr (std::is_same_v<N, Array>)
        inputs.push_back(node);
      else if constexpr (detail::kIsVector<N>)
        statics.push_back(int64_t(node.size()));
      else
        statics.push_back(detail::staticBits(node));
    });
  }

  detail::Function::Traced trace(std::span<const Tensor> tensors,
                                 const detail::WithArrays<Args> &...args) const {
    size_t next = 0;
    auto take = [&](const Array &) {
      size_t i = next++;
      return i < tensors.size() ? tensors[i] : Tensor();
    };
    std::tuple<Args...> arguments;
    std::apply([&](auto &...to) { (detail::mapTree(args, to, take), ...); }, arguments);
    core.checkArguments(next, tensors.size());
    detail::Function::Traced traced;
    if constexpr (std::is_void_v<R>) {
      std::apply(function, std::move(arguments));
    } else {
      const R result = std::apply(function, std::move(arguments));
      auto tree = std::make_shared<Result>();
      detail::mapTree(result, *tree, [&](const auto &leaf) {
        traced.results.push_back(leaf);
        return Array();
      });
      traced.tree = std::move(tree);
    }
    return traced;
  }

  detail::Function core;
  std::function<R(Args...)> function;
};

template <class F>
auto jit(Session &session, F function, JitOptions options = {}, Where at = Where::current()) {
  return Compiled<typename detail::Callable<F>::Signature>(session, std::move(function),
                                                           std::move(options), at);
}

} // namespace sinter
