// Package: functions of one program, exported with their variables for `sinter compile`.
//
//   sn::Package package{session};
//   package.add("classify", [&](Tensor image) { return softmax(net(image), 1); },
//               {{"image", sn::f32, {sn::dim("n", 1, 64), 1, 28, 28}}}, {"probability"});
//   package.write("mnist.mlirbc");      // the graph; the weights lie beside it: mnist.safetensors
//
// Functions are traced by add(); values of variables are those at write(). One thread.
#pragma once

#include "sinter/jit.h"

namespace sinter {

/// An argument of an exported function: its name, type and shape, in which dimensions of the same
/// name are equal.
struct Port {
  std::string name;
  DType dtype;
  Shape shape;
};

class Package {
public:
  explicit Package(Session &session);
  ~Package();
  Package(const Package &) = delete;
  Package &operator=(const Package &) = delete;

  /// Adds a function of Tensors for inference: layers behave as after eval(). `inputs` name its
  /// Tensors in order, `outputs` those it returns ("output0", … where not given).
  template <class F>
    requires(requires { &F::operator(); })
  void add(const std::string &name, F function, std::vector<Port> inputs,
           std::vector<std::string> outputs = {}, Where at = Where::current()) {
    add(name, jit(session, std::move(function), {.mode = Mode::Inference}, at), std::move(inputs),
        std::move(outputs), at);
  }
  /// Adds a jitted function as it is: a training step, say.
  template <class Signature>
  void add(const std::string &name, const Compiled<Signature> &function, std::vector<Port> inputs,
           std::vector<std::string> outputs = {}, Where at = Where::current()) {
    trace(
        name, function.options(),
        [&](std::span<const Tensor> tensors) { return function.trace(tensors); }, inputs, outputs,
        at);
  }

  /// Writes `path` (MLIR bytecode with the dialect's version) and the weights beside it.
  void write(const std::string &path, Where at = Where::current()) const;
  std::string str() const; ///< the graph as text

private:
  void trace(const std::string &name, const JitOptions &options, detail::Function::Body body,
             const std::vector<Port> &inputs, const std::vector<std::string> &outputs, Where at);

  Session &session;
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace sinter
